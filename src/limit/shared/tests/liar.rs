//! A Redis that lies, or is slow: requests wait no longer than the deadline, and go on without it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::*;

/// Longer than a busy machine takes for what should be immediate, shorter than [`SLOW`].
const DEADLINE: Duration = Duration::from_millis(1_500);

const SLOW: Duration = Duration::from_secs(5);

/// How a liar answers a request, once it was accepted.
#[derive(Clone, Copy)]
enum Lie {
    /// These bytes, at once.
    Says(&'static str),
    /// The truth, five seconds later.
    IsSlow,
}

/// Listens like a Redis, passes for one when a replica connects, and lies about every bucket except the probe's.
fn liar(lie: Lie) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    // Both threads end with the test's process; a connection ends with its replica.
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || talk(stream, lie));
        }
    });
    url
}

fn talk(mut stream: TcpStream, lie: Lie) {
    let mut received = [0; 4096];
    while let Ok(1..) = stream.read(&mut received) {
        let text = String::from_utf8_lossy(&received).into_owned();
        received.fill(0);
        // A command is an array of texts; those of the handshake may arrive together.
        for command in text.split('*').skip(1) {
            let answer = match (command.contains("EVAL"), command.contains(":probe"), lie) {
                (false, ..) => "+OK\r\n",
                (true, true, _) => ":0\r\n",
                (true, false, Lie::Says(words)) => words,
                (true, false, Lie::IsSlow) => {
                    std::thread::sleep(SLOW);
                    ":0\r\n"
                }
            };
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// Whether each of a hundred requests was allowed by this Redis; `None` without an answer. Together they take no longer than
/// one that waits for the deadline.
async fn hundred(lie: Lie) -> Vec<Option<bool>> {
    let replica = Replica::with_deadline(&liar(lie), DEADLINE).await;
    assert_eq!(
        replica.lines.count("rate limits hold"),
        1,
        "it was believed"
    );
    let begun = Instant::now();
    let mut verdicts = Vec::new();
    for _ in 0..100 {
        verdicts.push(replica.take(1).await);
    }
    assert!(begun.elapsed() < 2 * DEADLINE, "{:?}", begun.elapsed());
    verdicts
}

#[tokio::test]
async fn a_redis_that_answers_what_is_no_debt_is_as_good_as_none() {
    for words in [
        "+OK\r\n",
        "$-1\r\n",
        "*0\r\n",
        ":-1\r\n",
        ":9223372036854775807\r\n",
        ":99999999999999999999\r\n",
        "$5\r\nthree\r\n",
        "-ERR no\r\n",
        "*2147483647\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "\0\u{1}\u{2}\r\n",
    ] {
        assert_eq!(hundred(Lie::Says(words)).await, [None; 100], "{words:?}");
    }
}

#[tokio::test]
async fn a_redis_that_answers_too_late_or_by_half_costs_one_deadline() {
    for lie in [Lie::IsSlow, Lie::Says(":1"), Lie::Says("$536870912\r\nx")] {
        assert_eq!(hundred(lie).await, [None; 100]);
    }
}

/// Another program writes to the same Redis.
#[tokio::test]
async fn a_bucket_that_is_none_is_an_empty_one_and_is_mended() {
    let redis = Redis::start();
    let replica = Replica::start(&redis.url()).await;
    let mut connection = Client::open(redis.url()).unwrap().get_connection().unwrap();
    for (caller, put) in [
        "SET # nonsense",
        "SET # 1.2.3",
        "SET # -5.000000000",
        "LPUSH # 1795211340.000000000",
        "HSET # field value",
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("invoicing:limit:key:{caller}");
        let mut words = put.split(' ').map(|word| word.replace('#', &key));
        redis::cmd(&words.next().unwrap())
            .arg(words.collect::<Vec<_>>())
            .exec(&mut connection)
            .unwrap();
        let caller = u32::try_from(caller).unwrap();
        for allowed in [true, true, true, false] {
            assert_eq!(replica.take(caller).await, Some(allowed), "{put}");
        }
    }
    assert_eq!(replica.lines.count("Redis does not answer"), 0);
}

/// A moment that no clock will reach, stored as the time when a bucket is full.
#[tokio::test]
async fn a_bucket_with_a_moment_far_ahead_is_full_and_is_mended() {
    let redis = Redis::start();
    let replica = Replica::start(&redis.url()).await;
    let mut connection = Client::open(redis.url()).unwrap().get_connection().unwrap();
    let moment = format!("{}.000000000", "9".repeat(400));
    let key = "invoicing:limit:key:1";
    redis::cmd("SET")
        .arg(&[key, &moment])
        .exec(&mut connection)
        .unwrap();
    assert_eq!(replica.take(1).await, Some(false));
    let left: i64 = redis::cmd("PTTL").arg(key).query(&mut connection).unwrap();
    assert!((1..=3_000).contains(&left), "{left}");
}

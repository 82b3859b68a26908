//! A reader on a slow line gets all of a large download: what nobody reads is given up, and what is read slowly is not.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use socket2::SockRef;
use test_support::given;

use crate::attack::Request;
use crate::ended_downloads::{PRODUCTS, is_whole};
use crate::somebody::Somebody;

/// How much is read before the line becomes slow, so that the system of the server takes megabytes at a time.
const FAST: usize = 3 * 1024 * 1024;

/// How much is read at once then, every [`PAUSE`]: 80 KB in a second, as over a poor mobile network.
const SLOW: usize = 8 * 1024;

const PAUSE: Duration = Duration::from_millis(100);

/// How often: until the system has seemed to take nothing for more than ten seconds.
const TIMES: usize = 200;

/// As much as the system of the reader takes.
const RECEIVE_BUFFER: usize = 128 * 1024;

#[tokio::test]
async fn a_download_that_is_read_slowly_is_not_given_up() {
    let somebody = given!(Somebody::new().await);
    given!(somebody.pile_up_large_products(PRODUCTS));
    let path = format!("/teams/{}/products/export.csv", somebody.team);
    let request = Request::download(&path, &somebody.cookie);
    let base_url = somebody.service.caller.base_url();
    let address = base_url.strip_prefix("http://").expect("it is in clear");
    let mut reader = TcpStream::connect(address).unwrap();
    SockRef::from(&reader)
        .set_recv_buffer_size(RECEIVE_BUFFER)
        .unwrap();
    reader
        .write_all(request.head("connection: close\r\n").as_bytes())
        .unwrap();
    let read = move || {
        reader.read_exact(&mut vec![0; FAST]).expect("it is large");
        for _ in 0..TIMES {
            sleep(PAUSE);
            reader.read_exact(&mut [0; SLOW]).expect("more comes");
        }
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).expect("the rest comes");
        rest
    };
    let rest = tokio::task::spawn_blocking(read).await.unwrap();
    assert!(is_whole(&rest), "{} bytes", rest.len());
}

use futures::FutureExt;
use futures::future::{join, join_all};

use super::*;

/// All are of one crowd.
impl Crowds for () {
    type Crowd = ();

    fn handicap(&self, (): ()) -> Duration {
        Duration::ZERO
    }

    fn serves(&mut self, (): ()) {}

    fn crowding(_: impl Iterator<Item = ((), usize)>) -> impl Fn(()) -> Duration {
        |()| Duration::ZERO
    }
}

fn user(number: u128) -> Holder {
    Holder::User(uuid::Uuid::from_u128(number))
}

fn room(of_all: usize) -> Room {
    let of_each = usize::MAX;
    Room { of_all, of_each }
}

/// Nobody waits, and all permits but so many are taken.
fn assert_free<C: Crowds>(ranked: &Ranked<C>, free: usize) {
    let state = ranked.state();
    let left = [state.waiting.len(), state.of.len(), state.waiters];
    assert_eq!((left, state.free), ([0; 3], free));
}

fn later(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

#[tokio::test]
async fn whoever_had_least_goes_first_and_then_whoever_came_first() {
    let ranked = Arc::new(Ranked::new(1, room(10), ()));
    let taken = ranked.acquire(user(1), (), later(0), soon()).await.unwrap();
    let served = Mutex::new(Vec::new());
    let one = async |(had, name)| {
        let permit = ranked
            .acquire(user(1), (), later(had), soon())
            .await
            .unwrap();
        served.lock().unwrap().push(name);
        drop(permit);
    };
    let all = [(2, "a"), (0, "b"), (1, "c"), (0, "d")].map(one);
    join(join_all(all), async { drop(taken) }).await;
    assert_eq!(served.into_inner().unwrap(), ["b", "d", "c", "a"]);
    assert_free(&ranked, 1);
}

#[tokio::test(start_paused = true)]
async fn whoever_had_much_waits_for_those_who_come_in_that_time_and_for_no_others() {
    let ranked = Arc::new(Ranked::new(1, room(10), ()));
    let taken = ranked.acquire(user(1), (), later(0), soon()).await.unwrap();
    let mut much = Box::pin(ranked.acquire(user(1), (), later(2), soon()));
    assert!((&mut much).now_or_never().is_none());
    tokio::time::advance(later(1)).await;
    let mut earlier = Box::pin(ranked.acquire(user(1), (), later(0), soon()));
    assert!((&mut earlier).now_or_never().is_none());
    tokio::time::advance(later(2)).await;
    let mut late = Box::pin(ranked.acquire(user(1), (), later(0), soon()));
    assert!((&mut late).now_or_never().is_none());
    drop(taken);
    for next in [earlier, much, late] {
        drop(next.now_or_never().unwrap().unwrap());
    }
}

/// Counts by how many seconds those of a crowd are late.
#[derive(Debug, Default)]
struct Late(Mutex<HashMap<char, u64>>);

impl Crowds for Late {
    type Crowd = char;

    fn handicap(&self, crowd: char) -> Duration {
        later(self.0.lock().unwrap().get(&crowd).copied().unwrap_or(0))
    }

    fn serves(&mut self, crowd: char) {
        *self.0.lock().unwrap().entry(crowd).or_default() += 1;
    }

    fn crowding(waiting: impl Iterator<Item = (char, usize)>) -> impl Fn(char) -> Duration {
        let waiting = waiting.collect::<HashMap<_, _>>();
        move |crowd| later(waiting[&crowd] as u64)
    }
}

#[tokio::test(start_paused = true)]
async fn crowds_are_served_in_turn_and_keep_their_own_order() {
    let room = room(4);
    let ranked = Arc::new(Ranked::new(1, room, Late::default()));
    let taken = ranked.acquire(user(0), 'a', later(0), soon()).await;
    let served = Mutex::new(Vec::new());
    let one = async |(number, crowd, had)| {
        let permit = ranked.acquire(user(number), crowd, later(had), soon());
        let permit = permit.await;
        served.lock().unwrap().push((number, permit.is_ok()));
        drop(permit);
    };
    let all = [
        (1, 'a', 1),
        (2, 'a', 0),
        (3, 'a', 2),
        (4, 'b', 0),
        (5, 'b', 0),
    ];
    join(join_all(all.map(one)), async { drop(taken) }).await;
    // There was no room for the last of the crowd that had one.
    let expected = [(4, true), (2, true), (5, true), (1, true)];
    let served = served.into_inner().unwrap();
    assert_eq!(
        served.iter().filter(|it| it.1).copied().collect::<Vec<_>>(),
        expected
    );
    assert!(served.contains(&(3, false)));
}

#[tokio::test]
async fn beyond_its_room_whoever_had_most_is_told() {
    let ranked = Arc::new(Ranked::new(1, room(2), ()));
    let taken = ranked.acquire(user(1), (), later(0), soon()).await.unwrap();
    let (least, some) = (
        ranked.acquire(user(1), (), later(0), soon()),
        ranked.acquire(user(1), (), later(1), soon()),
    );
    let (mut least, mut some) = (Box::pin(least), Box::pin(some));
    assert!((&mut least).now_or_never().is_none() && (&mut some).now_or_never().is_none());
    let most = ranked
        .acquire(user(1), (), later(2), soon())
        .now_or_never()
        .unwrap();
    assert!(matches!(most, Err(Error::Unavailable(_))), "{most:?}");
    let mut newcomer = Box::pin(ranked.acquire(user(1), (), later(0), soon()));
    assert!((&mut newcomer).now_or_never().is_none());
    let some = some.now_or_never().unwrap();
    assert!(matches!(some, Err(Error::Unavailable(_))), "{some:?}");
    drop(taken);
    drop(least.await.unwrap());
    drop(newcomer.await.unwrap());
    assert_free(&ranked, 1);
}

#[tokio::test]
async fn beyond_the_room_of_one_its_last_is_told_and_others_have_theirs() {
    let room = Room {
        of_all: 3,
        of_each: 1,
    };
    let ranked = Arc::new(Ranked::new(1, room, ()));
    let taken = ranked.acquire(user(1), (), later(0), soon()).await.unwrap();
    let mut one = Box::pin(ranked.acquire(user(1), (), later(2), soon()));
    assert!((&mut one).now_or_never().is_none());
    let mut better = Box::pin(ranked.acquire(user(1), (), later(1), soon()));
    assert!((&mut better).now_or_never().is_none());
    let told = one.now_or_never().unwrap();
    assert!(matches!(told, Err(Error::Unavailable(_))), "{told:?}");
    let mut other = Box::pin(ranked.acquire(user(2), (), later(3), soon()));
    assert!((&mut other).now_or_never().is_none());
    drop(taken);
    drop(better.now_or_never().unwrap().unwrap());
    drop(other.now_or_never().unwrap().unwrap());
    assert_free(&ranked, 1);
}

#[tokio::test]
async fn whoever_stops_waiting_leaves_nothing_behind() {
    let ranked = Arc::new(Ranked::new(1, room(10), ()));
    let taken = ranked.acquire(user(1), (), later(0), soon()).await.unwrap();
    assert!(
        ranked
            .acquire(user(1), (), later(0), soon())
            .now_or_never()
            .is_none()
    );
    assert_free(&ranked, 0);
    // The permit is on its way to a waiter that has just stopped.
    let mut waits = Box::pin(ranked.acquire(user(1), (), later(0), soon()));
    assert!((&mut waits).now_or_never().is_none());
    drop(taken);
    drop(waits);
    assert_free(&ranked, 1);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_too_long_is_told() {
    let ranked = Arc::new(Ranked::new(0, room(10), ()));
    let late = ranked.acquire(user(1), (), later(0), soon()).await;
    assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
    assert_free(&ranked, 0);
}

use std::sync::Mutex;

use futures::FutureExt;
use futures::future::{join, join_all};
use uuid::Uuid;

use super::*;

fn network(site: u16, number: u16) -> Holder {
    Holder::Address(IpAddr::from([0x2001, 0xdb8, site, number, 0, 0, 0, 1]))
}

/// The order in which `holders` are served, if all of them wait before a place is free.
async fn order(lines: &Lines, holders: impl IntoIterator<Item = Holder>) -> Vec<Holder> {
    let places = Arc::new(Semaphore::new(1));
    let served = Mutex::new(Vec::new());
    let one = async |holder: Holder| {
        let first = lines.first(holder.into()).await.unwrap();
        let place = first.served(&places).await.unwrap();
        served.lock().unwrap().push(holder);
        drop(place);
    };
    let all = places.acquire().await.unwrap();
    let everybody = join_all(holders.into_iter().map(one));
    join(everybody, async { drop(all) }).await;
    served.into_inner().unwrap()
}

#[tokio::test]
async fn whoever_comes_from_elsewhere_waits_for_one_password_of_each_line() {
    let lines = Lines::before(1);
    // Two networks come many times, then another one comes once.
    let many = (0..20).map(|number| network(number % 2, 0));
    let served = order(&lines, many.chain([network(9, 0)])).await;
    assert_eq!(served.len(), 21);
    let at = served.iter().position(|&it| it == network(9, 0)).unwrap();
    assert!(at <= 3, "{served:?}");
}

#[tokio::test]
async fn whoever_is_known_waits_for_one_stranger_and_a_site_for_its_own() {
    // Thirty networks of one site, thirty sites, one more stranger, and two known holders.
    let (known, other) = (Holder::User(Uuid::nil()), Holder::Service);
    let one_site = (0..30).map(|number| network(0, number));
    let sites = (1..=30).map(|site| network(site, 0));
    let late = network(31, 0);
    let holders = one_site.chain(sites).chain([late, known, other]);
    let served = order(&Lines::before(1), holders).await;
    assert_eq!(served.len(), 63);
    let place = |holder| served.iter().position(|&it| it == holder).unwrap();
    assert!(place(known) <= 1 && place(other) <= 3, "{served:?}");
    assert!(place(late) <= 2 + 1 + 31, "{served:?}");
    assert_eq!(place(network(0, 29)), 62);
}

#[tokio::test]
async fn a_stranger_waits_for_one_of_those_who_are_known() {
    let known = (0..50).map(|number| Holder::User(Uuid::from_u128(number)));
    let served = order(&Lines::before(1), known.chain([network(0, 0)])).await;
    let place = served.iter().position(|&it| it == network(0, 0)).unwrap();
    assert!(place <= 2, "{served:?}");
}

/// One person may have hundreds of accounts, whose passwords are hashed all the time.
#[tokio::test]
async fn whoever_had_fewer_passwords_looked_at_of_late_goes_first() {
    let users = |numbers: std::ops::Range<u128>| {
        numbers.map(|number| Holder::User(Uuid::from_u128(number)))
    };
    let lines = Lines::before(1);
    for _ in 0..3 {
        assert_eq!(order(&lines, users(0..50)).await.len(), 50);
    }
    let late = Holder::User(Uuid::from_u128(50));
    // The second time as well, as if the first password was mistyped.
    for _ in 0..2 {
        let served = order(&lines, users(0..50).chain([late])).await;
        let place = served.iter().position(|&it| it == late).unwrap();
        assert!(place <= 1, "{served:?}");
        assert_eq!(served.len(), 51);
    }
}

fn of(credential: u128, age: Duration) -> Caller {
    Caller {
        bearer: Bearer {
            holder: Holder::User(Uuid::nil()),
            credential: Some(Uuid::from_u128(credential)),
        },
        age,
        site: None,
    }
}

/// From a site where nobody else waits.
fn elsewhere(holder: Holder) -> Caller {
    Caller {
        site: Some(surroundings([198, 51, 100, 1].into())),
        ..Caller::from(holder)
    }
}

/// As docs/decisions.md says (P12).
#[test]
fn the_handicap_grows_with_each_doubling_and_shrinks_with_age() {
    let seconds = |had, age| handicap(had, age).as_secs_f64();
    for (had, expected) in [(0, 0.0), (1, 3.0), (3, 6.0), (7, 8.0), (59, 8.0)] {
        assert_eq!(seconds(had, OLD), expected, "{had}");
        assert_eq!(seconds(had, Duration::MAX), expected, "{had}");
        assert_eq!(seconds(had, OLD / 2), expected + 4.0, "{had}");
        assert_eq!(seconds(had, Duration::ZERO), expected + 8.0, "{had}");
    }
}

/// Who knows the password of an account may sign in to it many times.
#[tokio::test(start_paused = true)]
async fn whoever_had_fewer_of_the_passwords_of_a_user_goes_first_and_finds_room() {
    let lines = Lines::before(1);
    let taken = lines.first(of(0, OLD)).await.unwrap();
    let mut waiting = Vec::new();
    for credential in 1..=LINE as u128 {
        let mut waits = Box::pin(lines.first(of(credential, OLD / 2)));
        assert!((&mut waits).now_or_never().is_none());
        waiting.push(waits);
    }
    // One that was just issued finds no room; trying again does not matter.
    for _ in 0..3 {
        let told = lines.first(of(98, Duration::ZERO)).now_or_never().unwrap();
        assert!(matches!(told, Err(Error::Unavailable(_))));
    }
    let mut old = Box::pin(lines.first(of(99, OLD)));
    assert!((&mut old).now_or_never().is_none());
    let told = waiting.pop().unwrap().now_or_never().unwrap();
    assert!(matches!(told, Err(Error::Unavailable(_))));
    // Whoever follows a link is not kept out by any of them.
    let resets = lines.first(elsewhere(Holder::Reset(Uuid::nil())));
    drop(resets.now_or_never().unwrap().unwrap());
    drop(taken);
    assert!(waiting[0].as_mut().now_or_never().is_none());
    drop(old.now_or_never().unwrap().unwrap());
    let next = waiting.remove(0);
    drop(next.now_or_never().unwrap().unwrap());
}

/// One person may have a thousand accounts.
#[tokio::test]
async fn whoever_is_known_waits_for_one_password_of_each_site_whatever_each_had() {
    let lines = Lines::before(1);
    let places = Arc::new(Semaphore::new(1));
    let user = |number| Holder::User(Uuid::from_u128(number));
    let served = Mutex::new(Vec::new());
    let one = async |caller: Caller| {
        let first = lines.first(caller).await.unwrap();
        let place = first.served(&places).await.unwrap();
        served.lock().unwrap().push(caller.site);
        drop(place);
    };
    for _ in 0..5 {
        one(elsewhere(user(0))).await;
    }
    served.lock().unwrap().clear();
    let all = places.acquire().await.unwrap();
    let many = (1..=100).map(|number| one(user(number).into()));
    let everybody = join(join_all(many), one(elsewhere(user(0))));
    join(everybody, async { drop(all) }).await;
    let served = served.into_inner().unwrap();
    assert_eq!(served[1], elsewhere(user(0)).site);
    assert_eq!(served.len(), 101);
}

/// So many of them may wait, and the permits of requests are left to others.
#[tokio::test]
async fn of_the_known_holders_of_a_site_whoever_had_most_finds_no_room() {
    let lines = Lines::before(1);
    let users = |number| Holder::User(Uuid::from_u128(number)).into();
    for _ in 0..2 {
        drop(lines.first(users(0)).await.unwrap());
    }
    let first = lines.first(users(1)).await.unwrap();
    let mut waiting = Vec::new();
    for number in 2..=LINES as u128 + 1 {
        let mut waits = Box::pin(lines.first(users(number)));
        assert!((&mut waits).now_or_never().is_none());
        waiting.push(waits);
    }
    let told = lines.first(users(0)).now_or_never().unwrap();
    assert!(matches!(told, Err(Error::Unavailable(_))));
    // It was not counted.
    assert_eq!(lines.of_holders.count(Holder::User(Uuid::nil())), 2);
    drop(first);
    drop(waiting.remove(0).now_or_never().unwrap().unwrap());
}

/// One person may make an account after the other.
#[tokio::test(start_paused = true)]
async fn whoever_had_some_waits_for_no_end_of_new_accounts() {
    let lines = Lines::before(1);
    let places = Arc::new(Semaphore::new(0));
    let known = |number, age| Caller {
        bearer: Holder::User(Uuid::from_u128(number)).into(),
        age,
        site: None,
    };
    for _ in 0..2 {
        drop(lines.first(known(0, OLD)).await.unwrap());
    }
    let wait = async |caller| {
        let first = lines.first(caller).await.unwrap();
        first.served(&places).await
    };
    let mut new: Vec<_> = (1..=20)
        .map(|number| Box::pin(wait(known(number, Duration::ZERO))))
        .collect();
    for one in &mut new {
        assert!(one.now_or_never().is_none());
    }
    let mut some = Box::pin(wait(known(0, OLD)));
    assert!((&mut some).now_or_never().is_none());
    places.add_permits(2);
    // The first has its turn already.
    drop(new.remove(0).now_or_never().unwrap().unwrap());
    drop(some.now_or_never().unwrap().unwrap());
}

/// One person may have several accounts, whose queues are full.
#[tokio::test]
async fn however_many_wait_in_other_queues_a_user_finds_room() {
    let lines = Lines::before(1);
    let mut waiting = Vec::new();
    for number in (0..40).flat_map(|user| [user; LINE + 1]) {
        let of = Holder::User(Uuid::from_u128(number));
        let mut waits = Box::pin(lines.first(of.into()));
        // The first of each queue goes on, and has its turn.
        waiting.push((waits.as_mut().now_or_never(), waits));
    }
    let user = elsewhere(Holder::User(Uuid::from_u128(99)));
    let first = lines.first(user).now_or_never().unwrap().unwrap();
    let mut second = Box::pin(lines.first(user));
    assert!((&mut second).now_or_never().is_none());
    drop(first);
    drop(second.await.unwrap());
}

#[tokio::test]
async fn strangers_who_find_no_room_are_told_at_once_and_who_is_known_is_not() {
    let lines = Lines::before(1);
    let mut waiting = Vec::new();
    for site in 0..LINES as u16 {
        waiting.push(lines.first(network(site, 0).into()).await.unwrap());
    }
    let late = network(LINES as u16, 0);
    let told = lines.first(late.into()).now_or_never().unwrap();
    assert!(matches!(told, Err(Error::Unavailable(_))));
    let known = lines.first(Holder::User(Uuid::nil()).into()).now_or_never();
    drop(known.unwrap().unwrap());
    waiting.pop();
    drop(lines.first(late.into()).now_or_never().unwrap().unwrap());
}

#[tokio::test]
async fn a_line_has_room_for_some_behind_the_first() {
    let lines = Lines::before(1);
    let line = lines.line(Whose::Network([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into()));
    for (room, all) in [(&line.room, LINE), (&lines.room, LINES)] {
        let taken = room.acquire_many(all as u32).await.unwrap();
        // A caller alone in a queue needs no room.
        let first = lines.first(network(0, 0).into()).await.unwrap();
        let told = lines.first(network(0, 0).into()).now_or_never().unwrap();
        assert!(matches!(told, Err(Error::Unavailable(_))));
        drop(taken);
        let mut next = Box::pin(lines.first(network(0, 0).into()));
        assert!((&mut next).now_or_never().is_none());
        drop(first);
        drop(next.await.unwrap());
    }
}

#[tokio::test]
async fn whoever_waits_too_long_is_told() {
    // The paused clock jumps to the next timer.
    tokio::time::pause();
    let lines = Lines::before(1);
    let first = lines.first(network(0, 0).into()).await.unwrap();
    let behind = lines.first(network(0, 0).into()).await;
    assert!(matches!(behind, Err(Error::Unavailable(_))));
    let nowhere = first.served(&Arc::new(Semaphore::new(0))).await;
    assert!(matches!(nowhere, Err(Error::Unavailable(_))));
}

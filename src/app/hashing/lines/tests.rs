use std::sync::Mutex;

use futures::FutureExt;
use futures::future::{BoxFuture, join, join_all};
use tokio::task::unconstrained;
use uuid::Uuid;

use super::*;
use crate::domain::id::UserId;

fn network(site: u16, number: u16) -> Caller {
    Caller::from(Holder::Address(IpAddr::from([
        0x2001, 0xdb8, site, number, 0, 0, 0, 1,
    ])))
}

/// A user in an old session, at this site.
fn user(number: u128, site: u8) -> Caller {
    Caller {
        site: Some(surroundings([192, 0, site, 1].into())),
        ..Caller::from(Holder::User(Uuid::from_u128(number)))
    }
}

fn of_team(caller: Caller, number: u128) -> Caller {
    caller.of_team(Some(TeamId(Uuid::from_u128(number))))
}

/// With a credential that is new.
fn new(caller: Caller) -> Caller {
    Caller {
        age: Duration::ZERO,
        ..caller
    }
}

/// The place, if there is one at once.
fn at_once(lines: &Lines, caller: Caller) -> Option<Place> {
    let place = lines.place(caller).now_or_never()?;
    Some(place.unwrap())
}

/// Callers who wait for a place.
struct Waiting<'a>(Vec<BoxFuture<'a, Result<Place, Error>>>);

impl<'a> Waiting<'a> {
    fn of(lines: &'a Lines, callers: impl IntoIterator<Item = Caller>) -> Waiting<'a> {
        let waits = callers.into_iter().map(|caller| {
            let mut waits = lines.place(caller).boxed();
            assert!((&mut waits).now_or_never().is_none());
            waits
        });
        Waiting(waits.collect())
    }

    /// How many were sent away.
    fn told(&mut self) -> usize {
        let before = self.0.len();
        self.0.retain_mut(|waits| match waits.now_or_never() {
            Some(told) => {
                assert!(matches!(told, Err(Error::Unavailable(_))));
                false
            }
            None => true,
        });
        before - self.0.len()
    }
}

/// The order in which `callers` are served, if all of them wait before a place is free.
async fn order(lines: &Lines, callers: impl IntoIterator<Item = Caller>) -> Vec<Holder> {
    let served = Mutex::new(Vec::new());
    let one = async |caller: Caller| {
        let place = lines.place(caller).await.unwrap();
        served.lock().unwrap().push(caller.bearer.holder);
        drop(place);
    };
    let places = lines.places.available_permits() as u32;
    let all = lines.places.acquire_many(places).await.unwrap();
    let everybody = join_all(callers.into_iter().map(one));
    // Otherwise the last of many would not have joined a queue when the first is served.
    unconstrained(join(everybody, async { drop(all) })).await;
    served.into_inner().unwrap()
}

/// Where a caller is in the order.
fn at(served: &[Holder], caller: Caller) -> usize {
    let at = served.iter().position(|it| *it == caller.bearer.holder);
    at.unwrap()
}

#[tokio::test]
async fn whoever_comes_from_elsewhere_waits_for_one_password_of_each_line() {
    // Two networks come many times, then another one comes once.
    let many = (0..20).map(|number| network(number % 2, 0));
    let late = network(9, 0);
    let served = order(&Lines::before(1, LINES), many.chain([late])).await;
    assert_eq!(served.len(), 21);
    assert!(at(&served, late) <= 3, "{served:?}");
}

#[tokio::test]
async fn whoever_is_known_waits_for_one_stranger_and_a_site_for_its_own() {
    // Thirty networks of one site, thirty sites, one more stranger, and two known holders.
    let (known, other) = (user(1, 1), user(2, 1));
    let one_site = (0..30).map(|number| network(0, number));
    let sites = (1..=30).map(|site| network(site, 0));
    let late = network(31, 0);
    let callers = one_site.chain(sites).chain([late, known, other]);
    let served = order(&Lines::before(1, LINES), callers).await;
    assert_eq!(served.len(), 63);
    assert!(
        at(&served, known) <= 1 && at(&served, other) <= 3,
        "{served:?}"
    );
    assert!(at(&served, late) <= 2 + 1 + 31, "{served:?}");
    assert_eq!(at(&served, network(0, 29)), 62);
}

/// Whoever has an IPv6 /29 has half a million sites.
#[tokio::test]
async fn a_block_has_as_many_turns_before_one_of_another_as_there_are_places() {
    for places in [1, 3] {
        let sites = (0..60).map(|site| network(site, 0));
        let other = [0x2a00, 0, 0, 0, 0, 0, 0, 1];
        let other = Caller::from(Holder::Address(IpAddr::from(other)));
        let served = order(&Lines::before(places, LINES), sites.chain([other])).await;
        assert_eq!(served.len(), 61);
        // Those of whom each has a place, and one whose turn comes at the same time.
        assert!(at(&served, other) < 2 * places, "{served:?}");
    }
}

#[tokio::test]
async fn a_stranger_waits_for_one_of_those_who_are_known() {
    let known = (0..50).map(|number| user(number, 1));
    let stranger = network(0, 0);
    let served = order(&Lines::before(1, LINES), known.chain([stranger])).await;
    assert!(at(&served, stranger) <= 2, "{served:?}");
}

/// As docs/decisions.md says (P12).
#[test]
fn the_handicap_grows_with_each_password_and_shrinks_with_age() {
    let millis = |had, age| handicap(had, age).as_millis();
    for (had, expected) in [(0, 0), (1, 500), (3, 1_500), (180, 90_000)] {
        assert_eq!(millis(had, OLD), expected, "{had}");
        assert_eq!(millis(had, Duration::MAX), expected, "{had}");
        assert_eq!(millis(had, OLD / 2), expected + 5_000, "{had}");
        assert_eq!(millis(had, Duration::ZERO), expected + 10_000, "{had}");
    }
}

/// As docs/decisions.md says (P12).
#[tokio::test]
async fn one_password_of_a_site_and_team_is_forgotten_each_two_seconds() {
    tokio::time::pause();
    let mut had = HadByMany::new();
    let caller = of_team(user(0, 1), 1);
    let crowd = (caller.site, caller.team);
    for _ in 0..3 {
        had.serves(crowd);
    }
    for left in (0..=3).rev() {
        assert_eq!(had.handicap(crowd), Duration::from_millis(2_500) * left);
        // The clock was paused a little earlier than the limits began.
        tokio::time::advance(Duration::from_millis(2_100)).await;
    }
}

/// One person may have hundreds of accounts, whose passwords are hashed all the time, at one site or at many.
#[tokio::test]
async fn whoever_had_fewer_passwords_looked_at_of_late_goes_first() {
    for sites in [1, 50] {
        let lines = Lines::before(1, LINES);
        let many = || (0..50).map(|number| user(number, (number % sites) as u8));
        for _ in 0..3 {
            assert_eq!(order(&lines, many()).await.len(), 50);
        }
        let late = user(50, 99);
        // The second time as well, as if the first password was mistyped.
        for _ in 0..2 {
            let served = order(&lines, many().chain([late])).await;
            assert!(at(&served, late) <= 1, "{served:?}");
            assert_eq!(served.len(), 51);
        }
    }
}

/// One person may have a thousand accounts of which none was ever used.
#[tokio::test]
async fn whoever_had_some_goes_before_the_many_of_another_site() {
    let lines = Lines::before(1, LINES);
    let some = user(0, 1);
    for _ in 0..5 {
        drop(at_once(&lines, some));
    }
    let many = (1..=100).map(|number| user(number, 2));
    let served = order(&lines, many.chain([some])).await;
    assert!(at(&served, some) <= 30, "{served:?}");
    let many = (101..=200).map(|number| user(number, 2));
    let served = order(&lines, many.chain([some])).await;
    assert!(at(&served, some) <= 1, "{served:?}");
}

/// One person may have a hundred older accounts at as many sites, but only the operator makes teams.
#[tokio::test]
async fn whoever_had_some_goes_before_the_many_of_another_team() {
    let lines = Lines::before(1, LINES);
    let some = of_team(user(0, 0), 1);
    for _ in 0..3 {
        drop(at_once(&lines, some));
    }
    let many = (1..=100).map(|number| of_team(user(number, number as u8), 2));
    let served = order(&lines, many.chain([some])).await;
    assert!(at(&served, some) <= 13, "{served:?}");
}

/// Nobody of the team has been served yet.
#[tokio::test]
async fn the_many_of_a_team_who_fill_the_room_leave_before_whoever_had_some() {
    let lines = Lines::before(1, LINES);
    let some = of_team(user(0, 0), 1);
    for _ in 0..3 {
        drop(at_once(&lines, some));
    }
    let _taken = at_once(&lines, of_team(user(0, 1), 3)).unwrap();
    let many = (1..=LINES as u128).map(|number| of_team(user(number, number as u8), 2));
    let mut many = Waiting::of(&lines, many);
    let _some = Waiting::of(&lines, [some]);
    assert_eq!(many.told(), 1);
}

/// One person may make an account after the other, and sign in to each from another site.
#[tokio::test]
async fn whoever_had_some_goes_before_all_new_accounts() {
    let lines = Lines::before(1, LINES);
    let some = user(0, 0);
    for _ in 0..5 {
        drop(at_once(&lines, some));
    }
    let accounts = (1..=100).map(|number| new(user(number, number as u8)));
    let served = order(&lines, accounts.chain([some])).await;
    assert!(at(&served, some) <= 1, "{served:?}");
}

/// Who knows the password of an account may sign in to it many times, and be signed in for long.
#[tokio::test]
async fn whoever_had_fewer_of_the_passwords_of_a_user_goes_first_and_finds_room() {
    let of = |credential, site| {
        let mut caller = user(0, site);
        caller.bearer.credential = Some(Uuid::from_u128(credential));
        caller
    };
    let lines = Lines::before(1, LINES);
    for credential in 1..=8 {
        drop(at_once(&lines, of(credential, 1)));
    }
    let taken = at_once(&lines, of(1, 1)).unwrap();
    let mut waiting = Waiting::of(&lines, (1..=8).map(|credential| of(credential, 1)));
    // One that was just issued finds no room; trying again does not matter.
    for _ in 0..3 {
        let told = lines.place(new(of(98, 1))).now_or_never().unwrap();
        assert!(matches!(told, Err(Error::Unavailable(_))));
    }
    let mut owner = Waiting::of(&lines, [of(99, 2)]);
    assert_eq!(waiting.told(), 1);
    // Whoever follows a link does not even count as that user.
    let mut link = Waiting::of(
        &lines,
        [Caller::with_link(
            UserId(Uuid::nil()),
            [192, 0, 3, 1].into(),
        )],
    );
    drop(taken);
    drop(link.0.remove(0).now_or_never().unwrap().unwrap());
    // The owner waits for those who came before, if at all.
    drop(waiting);
    drop(owner.0.remove(0).now_or_never().unwrap().unwrap());
}

/// The permits of requests are left to others.
#[tokio::test]
async fn of_all_known_holders_whoever_had_most_finds_no_room_and_is_not_counted() {
    let lines = Lines::before(1, LINES);
    let had_some = user(0, 1);
    for _ in 0..2 {
        drop(at_once(&lines, had_some));
    }
    let taken = at_once(&lines, user(1, 2)).unwrap();
    let mut waiting = Waiting::of(
        &lines,
        (0..LINES as u128).map(|it| new(user(2 + it, it as u8))),
    );
    let mut some = Waiting::of(&lines, [had_some]);
    assert_eq!(waiting.told(), 1);
    let told = lines.place(new(user(9, 1))).now_or_never().unwrap();
    assert!(matches!(told, Err(Error::Unavailable(_))));
    assert_eq!(lines.of_holders.count(user(9, 1).bearer.holder).earlier, 1);
    drop(taken);
    drop(some.0.remove(0).now_or_never().unwrap().unwrap());
}

/// Beyond as many as are counted, who is sent away gets none of those back.
#[tokio::test]
async fn whoever_is_sent_away_again_and_again_stays_counted() {
    let lines = Lines::before(1, LINES);
    let many = user(0, 1);
    for _ in 0..COUNTED {
        drop(at_once(&lines, many));
    }
    let _taken = at_once(&lines, user(1, 2)).unwrap();
    // The paused clock jumps to the next timer.
    tokio::time::pause();
    let told = join_all((0..8).map(|_| lines.place(many))).await;
    assert!(told.iter().all(Result::is_err));
    let had = lines.of_holders.count(many.bearer.holder).earlier;
    assert!(had >= u64::from(COUNTED) - 1, "{had}");
}

#[tokio::test]
async fn strangers_who_find_no_room_are_told_at_once_and_who_is_known_is_not() {
    let lines = Lines::before(1, LINES);
    let taken = at_once(&lines, network(0, 0)).unwrap();
    let mut waiting = Waiting::of(&lines, (1..LINES as u16).map(|site| network(site, 0)));
    let late = network(LINES as u16, 0);
    let told = lines.place(late).now_or_never().unwrap();
    assert!(matches!(told, Err(Error::Unavailable(_))));
    let known = Waiting::of(&lines, [user(0, 1)]);
    drop((known, waiting.0.pop()));
    drop(Waiting::of(&lines, [late]));
    drop(taken);
}

/// One person may have all networks of a site.
#[tokio::test]
async fn the_many_of_a_site_who_fill_the_room_leave_for_a_stranger_of_another() {
    let lines = Lines::before(1, LINES);
    let taken = at_once(&lines, network(0, 0)).unwrap();
    // First those who are the first of their network, then those behind them.
    let alone = (1..LINES as u16).map(|number| network(0, number));
    let mut many = Waiting::of(&lines, alone);
    let mut other = Waiting::of(&lines, [network(1, 0)]);
    assert_eq!(many.told(), 1);
    let behind = (0..LINES / BEHIND).map(|number| network(0, (number % 8) as u16));
    many.0.extend(Waiting::of(&lines, behind).0);
    other.0.extend(Waiting::of(&lines, [network(1, 0)]).0);
    assert_eq!((many.told(), other.told()), (1, 0));
    drop(taken);
}

#[tokio::test]
async fn a_line_has_room_for_some_behind_the_first() {
    let lines = Lines::before(1, LINES);
    let first = at_once(&lines, network(0, 0)).unwrap();
    let mut behind = Waiting::of(&lines, (0..LINE).map(|_| network(0, 0)));
    let told = lines.place(network(0, 0)).now_or_never().unwrap();
    assert!(matches!(told, Err(Error::Unavailable(_))));
    drop(first);
    drop(behind.0.remove(0).await.unwrap());
}

#[tokio::test]
async fn whoever_waits_too_long_is_told() {
    // The paused clock jumps to the next timer.
    tokio::time::pause();
    let lines = Lines::before(1, LINES);
    let _taken = lines.place(network(0, 0)).await.unwrap();
    for late in [network(0, 0), network(1, 0), user(0, 1)] {
        let told = lines.place(late).await;
        assert!(matches!(told, Err(Error::Unavailable(_))));
    }
}

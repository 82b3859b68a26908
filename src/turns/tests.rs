use std::pin::Pin;
use std::time::Duration;

use futures::FutureExt;
use uuid::Uuid;

use super::*;

type Waiting<'a> = Pin<Box<dyn Future<Output = Result<Turn, Error>> + 'a>>;

fn team(number: u128) -> Holder {
    Holder::Team(Uuid::from_u128(number))
}

/// Turns that are free at once.
fn taken(turns: &Turns, holder: Holder, count: usize) -> Vec<Turn> {
    let take = |_| turns.take(holder).now_or_never().unwrap().unwrap();
    (0..count).map(take).collect()
}

/// A script that has to wait.
fn waiting(turns: &Turns, holder: Holder) -> Waiting<'_> {
    let mut waiting: Waiting<'_> = Box::pin(turns.take(holder));
    assert!((&mut waiting).now_or_never().is_none());
    waiting
}

fn is_served(waiting: &mut Waiting<'_>) -> Option<Turn> {
    waiting.now_or_never().map(Result::unwrap)
}

#[test]
fn a_holder_alone_gets_its_share_at_once_and_not_more() {
    let turns = Turns::new(16, &Arc::default());
    let mut first = taken(&turns, team(1), 12);
    let mut thirteenth = waiting(&turns, team(1));
    let _others = taken(&turns, team(2), 4);
    first.pop();
    assert!(is_served(&mut thirteenth).is_some());
}

#[test]
fn the_next_turn_goes_to_whoever_has_the_fewest() {
    let turns = Turns::new(4, &Arc::default());
    let mut first = taken(&turns, team(1), 3);
    let _second = taken(&turns, team(2), 1);
    let mut lines = [1, 1, 2, 3].map(|holder| waiting(&turns, team(holder)));
    let mut order = Vec::new();
    while let Some(turn) = first.pop() {
        drop(turn);
        let served = lines.iter_mut().position(|line| match is_served(line) {
            Some(turn) => {
                std::mem::forget(turn);
                true
            }
            None => false,
        });
        order.push(served);
        if let Some(served) = served {
            lines[served] = Box::pin(std::future::pending());
        }
    }
    // The third has none; then the first and the second have one each, and the second was served less often.
    assert_eq!(order, [Some(3), Some(2), Some(0)]);
}

#[test]
fn who_asks_now_and_then_is_before_hundreds_who_ask_all_the_time() {
    let turns = Turns::new(1, &Arc::default());
    for number in 1..=300 {
        drop(taken(&turns, team(number), 1));
    }
    let turn = taken(&turns, team(1), 1);
    let _all_the_time: Vec<_> = (1..=300).map(|it| waiting(&turns, team(it))).collect();
    let mut now_and_then = waiting(&turns, team(301));
    drop(turn);
    assert!(is_served(&mut now_and_then).is_some());
}

/// Each account is a holder, and a person may have hundreds.
#[test]
fn who_stands_for_many_has_each_fourth_turn_beside_hundreds_who_ask_all_the_time() {
    for many in [Holder::Parts, Holder::Strangers] {
        let turns = Turns::new(1, &Arc::default());
        let mut turn = taken(&turns, team(0), 1).pop();
        let mut accounts: Vec<_> = (0..900).map(|it| waiting(&turns, team(it % 300))).collect();
        let mut of_many = Vec::new();
        let mut served = 0;
        for round in 0..800 {
            if of_many.is_empty() {
                of_many.push(waiting(&turns, many));
            }
            drop(turn.take());
            let found = of_many.iter_mut().chain(&mut accounts).enumerate();
            let (at, next) = found
                .filter_map(|(at, it)| Some((at, is_served(it)?)))
                .next()
                .unwrap();
            turn = Some(next);
            if at == 0 {
                of_many.clear();
                served += usize::from(round >= 400);
            } else {
                drop(accounts.swap_remove(at - 1));
            }
        }
        // And a few that count.
        assert!((100..110).contains(&served), "{served} for {many:?}");
    }
}

#[test]
fn of_those_who_stand_for_many_each_has_its_part_of_the_fourth_turns_whatever_it_had_before() {
    let turns = Turns::new(1, &Arc::default());
    for _ in 0..50 {
        drop(taken(&turns, Holder::Links, 1));
    }
    let mut turn = taken(&turns, team(0), 1).pop();
    let mut all: Vec<_> = (1..=300)
        .map(|it| (false, waiting(&turns, team(it))))
        .collect();
    all.extend((0..100).map(|_| (false, waiting(&turns, Holder::Parts))));
    all.extend((0..100).map(|_| (true, waiting(&turns, Holder::Links))));
    let mut of_links = 0;
    for _ in 0..200 {
        drop(turn.take());
        let mut served = all.iter_mut().enumerate();
        let served = served.find_map(|(at, (_, it))| Some((at, is_served(it)?)));
        let (at, next) = served.expect("somebody is served");
        turn = Some(next);
        of_links += usize::from(all.swap_remove(at).0);
    }
    assert!(of_links >= 20, "{of_links} of some fifty fourth turns");
}

/// What holders that stand for many had is nothing to those who ask now and then.
#[test]
fn who_asks_now_and_then_is_before_hundreds_also_beside_those_who_stand_for_many() {
    let turns = Turns::new(1, &Arc::default());
    let mut turn = taken(&turns, team(0), 1).pop();
    let mut others: Vec<_> = (0..3_000)
        .map(|it| waiting(&turns, team(it % 300)))
        .collect();
    others.extend((0..2_000).map(|_| waiting(&turns, Holder::Parts)));
    let mut next = |turn: Option<Turn>| {
        drop(turn);
        let mut served = others.iter_mut().enumerate();
        let served = served.find_map(|(at, it)| Some((at, is_served(it)?)));
        served.map(|(at, turn)| {
            drop(others.remove(at));
            turn
        })
    };
    for _ in 0..2_000 {
        turn = next(turn);
    }
    let mut now_and_then = waiting(&turns, team(301));
    let before = (0..).take_while(|_| {
        turn = next(turn.take());
        turn.is_some()
    });
    // One turn may be for many.
    assert!(before.count() <= 1);
    assert!(is_served(&mut now_and_then).is_some());
}

/// Turns that a holder had while no other asked do not make it wait for all others.
#[test]
fn who_has_had_much_waits_for_a_few_turns_of_each_who_comes_then() {
    let turns = Turns::new(1, &Arc::default());
    for _ in 0..10_000 {
        drop(taken(&turns, team(1), 1));
    }
    let mut turn = taken(&turns, team(2), 1).pop();
    let mut much = waiting(&turns, team(1));
    let mut others: Vec<_> = (2..22).map(|it| waiting(&turns, team(it))).collect();
    let mut before = 0;
    drop(turn.take());
    while is_served(&mut much).is_none() {
        before += 1;
        assert!(before < 20 * 20, "all others are served again and again");
        let mut served = others.iter_mut().zip(2..).filter_map(|(other, number)| {
            let turn = is_served(other)?;
            *other = waiting(&turns, team(number));
            Some(turn)
        });
        drop(served.next());
    }
}

#[test]
fn who_waits_a_thousand_times_gets_every_second_turn_beside_another() {
    let turns = Turns::new(1, &Arc::default());
    let mut turn = taken(&turns, team(3), 1).pop();
    let mut greedy: Vec<_> = (0..1_000).map(|_| waiting(&turns, team(1))).collect();
    let mut other: Vec<_> = (0..10).map(|_| waiting(&turns, team(2))).collect();
    for _ in 0..10 {
        for line in [&mut greedy, &mut other] {
            drop(turn.take());
            turn = is_served(&mut line.remove(0));
            assert!(turn.is_some());
        }
    }
}

#[test]
fn with_fewer_turns_those_in_hand_end_first_and_shares_are_of_the_fewer() {
    let turns = Turns::new(16, &Arc::default());
    let mut first = taken(&turns, team(1), 12);
    let mut others = taken(&turns, team(2), 4);
    let mut lines = [1, 2].map(|holder| waiting(&turns, team(holder)));
    turns.resize(8);
    first.truncate(4);
    assert!(is_served(&mut lines[1]).is_none());
    others.pop();
    others.extend(is_served(&mut lines[1]));
    assert_eq!(turns.state(), (8, 1));
    // Six of eight are a share.
    others.truncate(1);
    first.extend(is_served(&mut lines[0]));
    first.extend(taken(&turns, team(1), 1));
    let _seventh = waiting(&turns, team(1));
}

#[test]
fn with_more_turns_those_who_wait_are_served() {
    let turns = Turns::new(1, &Arc::default());
    let _turn = taken(&turns, team(1), 1);
    let mut lines = [1, 2, 3].map(|holder| waiting(&turns, team(holder)));
    turns.resize(3);
    let served = lines.each_mut().map(|line| is_served(line).is_some());
    assert_eq!(served, [false, true, true]);
}

#[test]
fn who_has_gone_is_passed_over() {
    let turns = Turns::new(1, &Arc::default());
    let turn = taken(&turns, team(1), 1);
    let gone = waiting(&turns, team(2));
    let mut served_and_gone = waiting(&turns, team(3));
    let mut last = waiting(&turns, team(4));
    drop(gone);
    drop(turn);
    assert!(is_served(&mut last).is_none());
    drop(std::mem::replace(
        &mut served_and_gone,
        Box::pin(std::future::pending()),
    ));
    drop(is_served(&mut last).unwrap());
    assert!(turns.0.state().lines.is_empty());
    assert_eq!(turns.0.state().in_hand, 0);
}

#[tokio::test(start_paused = true)]
async fn who_would_wait_for_too_long_is_refused_and_who_has_a_line_of_its_own_is_not() {
    let turns = Turns::new(1, &Arc::default());
    let mut turn = taken(&turns, team(1), 1).pop();
    let mut slow: Vec<_> = (0..40)
        .map(|_| waiting(&turns, Holder::Exchanges))
        .collect();
    for _ in 0..20 {
        tokio::time::advance(Duration::from_millis(100)).await;
        drop(turn.take());
        turn = is_served(&mut slow.remove(0));
        assert!(turn.is_some());
    }
    let refused = turns.take(Holder::Exchanges).now_or_never();
    assert!(matches!(refused, Some(Err(Error::Unavailable(_)))));
    assert_eq!(turns.0.refused.get(), 1);
    assert_eq!(turns.state(), (1, 20));
    let _others: Vec<_> = (0..100).map(|_| waiting(&turns, team(2))).collect();
}

#[test]
fn strangers_have_a_quarter() {
    let turns = Turns::new(16, &Arc::default());
    let _some = taken(&turns, Holder::Strangers, 4);
    let _fifth = waiting(&turns, Holder::Strangers);
    let _others = taken(&turns, team(1), 12);
}

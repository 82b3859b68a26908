use futures::FutureExt;
use http_body::Body as _;
use http_body_util::BodyExt;
use uuid::Uuid;

use super::*;
use crate::domain::holder::Holder;

const HOLDER: Holder = Holder::Team(Uuid::nil());
const MIB: usize = 1024 * 1024;

fn unsent() -> Unsent {
    Unsent::new(64 * MIB, Arc::default())
}

fn answer(length: usize) -> Bytes {
    (0..length).map(|it| it as u8).collect()
}

/// Returns what comes of a body without waiting: all that a peer gets that lets go of nothing.
fn taken(body: &mut Body) -> Vec<Bytes> {
    let mut pieces = Vec::new();
    while let Some(Some(Ok(frame))) = body.frame().now_or_never() {
        pieces.extend(frame.into_data());
    }
    pieces
}

#[tokio::test]
async fn a_peer_that_takes_what_it_gets_gets_all_of_it() {
    let unsent = unsent();
    for length in [1, PIECE, WHOLE, WHOLE + 1, MIB + 7] {
        let mut body = unsent.body(HOLDER, answer(length), false).unwrap();
        assert_eq!(body.size_hint().exact(), Some(length as u64));
        let mut received = Vec::new();
        while let Some(frame) = body.frame().await {
            received.extend(frame.unwrap().into_data().unwrap());
        }
        assert!(received == answer(length), "{length} bytes are other ones");
        assert_eq!(unsent.budget.held(), 0, "{length} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_peer_leaves_for_ten_seconds_is_freed_but_for_what_it_has() {
    let unsent = unsent();
    let mut body = unsent.body(HOLDER, answer(MIB), false).unwrap();
    let pieces = taken(&mut body);
    assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>(), WINDOW);
    assert_eq!(unsent.budget.held(), MIB + WINDOW);

    // hyper is woken, asks again, and gets the error.
    let told = body.frame().await;
    assert!(told.is_some_and(|it| it.is_err()));
    assert_eq!(unsent.budget.held(), WINDOW);
    drop(pieces);
    assert_eq!(unsent.budget.held(), 0);
}

/// As hyper does for a stream with a zero window.
#[tokio::test(start_paused = true)]
async fn what_nobody_asks_for_any_more_is_freed_too() {
    let unsent = unsent();
    let mut body = unsent.body(HOLDER, answer(MIB), false).unwrap();
    let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
    tokio::time::sleep(STALL_LIMIT * 2).await;
    assert_eq!(unsent.budget.held(), piece.len());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_a_little_now_and_then_keeps_its_answer() {
    let unsent = unsent();
    let mut body = unsent.body(HOLDER, answer(2 * WINDOW), false).unwrap();
    let mut pieces = taken(&mut body);
    let mut received = 0;
    while !pieces.is_empty() {
        tokio::time::sleep(STALL_LIMIT - Duration::from_millis(1)).await;
        received += pieces.remove(0).len();
        pieces.extend(taken(&mut body));
    }
    assert_eq!(received, 2 * WINDOW);
    assert_eq!(unsent.budget.held(), 0);
}

#[tokio::test]
async fn an_answer_that_is_gone_leaves_nobody_behind_to_look_after_it() {
    let unsent = unsent();
    let mut body = unsent.body(HOLDER, answer(MIB), false).unwrap();
    let pieces = taken(&mut body);
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    tokio::task::yield_now().await;
    assert_eq!(tasks(), 1);
    drop((body, pieces));
    tokio::task::yield_now().await;
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn bytes_that_all_answers_share_are_neither_copied_nor_counted() {
    let unsent = unsent();
    let bytes = answer(MIB);
    let mut body = unsent.shared_body(bytes.clone());
    let pieces = taken(&mut body);
    assert_eq!(pieces[1].as_ptr(), bytes[PIECE..].as_ptr());
    assert_eq!(unsent.budget.held(), 0);
    // They are given up anyway.
    assert!(body.frame().await.is_some_and(|it| it.is_err()));
}

#[tokio::test]
async fn a_large_answer_beyond_the_budget_is_refused_and_a_small_one_is_not() {
    let unsent = unsent();
    let bodies: Vec<_> = std::iter::from_fn(|| unsent.body(HOLDER, answer(MIB), false)).collect();
    assert_eq!(bodies.len(), 16, "a quarter of the whole");
    assert!(!unsent.has_room(HOLDER));
    assert!(unsent.body(HOLDER, answer(PIECE), false).is_some());
    let held = unsent.budget.held();
    let told_all_the_same = unsent.body_anyway(HOLDER, answer(MIB), false);
    assert_eq!(unsent.budget.held(), held + MIB);
    drop(told_all_the_same);
    let other = Holder::Team(Uuid::max());
    assert!(unsent.body(other, answer(MIB), false).is_some());
}

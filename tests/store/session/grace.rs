//! Spent refresh tokens: lost answers, and theft.

use invoicing::domain::time::Clock as _;

use super::*;

/// S9: the same pair once more.
#[tokio::test]
async fn a_lost_answer_is_given_again_for_30_seconds() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    for (seconds, left) in [(0, 3600), (10, 3590), (19, 3571)] {
        mobile.pass(seconds);
        let again = mobile.refresh(&first.refresh_token).await.unwrap();
        assert_eq!(pair(&again), pair(&second));
        assert_eq!((again.expires_in, again.user_id), (left, mobile.user.id));
    }
    assert!(mobile.is_alive(&second).await);
    assert!(mobile.refresh(&second.refresh_token).await.is_ok());
}

/// S9: `expires_in`, in whole seconds that really remain.
#[tokio::test]
async fn what_is_left_is_rounded_down() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    mobile.refresh(&first.refresh_token).await.unwrap();
    mobile.service.clock.advance(Duration::from_millis(1));
    let again = mobile.refresh(&first.refresh_token).await.unwrap();
    assert_eq!(again.expires_in, 3599);
}

/// S9 for 30 seconds, then S10.
#[tokio::test]
async fn a_spent_token_ends_the_session_after_30_seconds() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    mobile.pass(30);
    assert_reused(mobile.refresh(&first.refresh_token).await);
    assert!(!mobile.is_alive(&first).await);
    assert!(!mobile.is_alive(&second).await);
    assert_invalid_grant(mobile.refresh(&second.refresh_token).await);
}

/// S9, "unless the new refresh token has been presented before": then a spent token ends the whole session.
#[tokio::test]
async fn once_the_successor_was_presented_a_spent_token_ends_the_session() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    let third = mobile.refresh(&second.refresh_token).await.unwrap();
    assert_reused(mobile.refresh(&first.refresh_token).await);
    for tokens in [&first, &second, &third] {
        assert!(!mobile.is_alive(tokens).await);
        assert_invalid_grant(mobile.refresh(&tokens.refresh_token).await);
    }
}

/// S9, "unless the new refresh token has been presented before": presented, not granted. The successor itself
/// stays unspent.
#[tokio::test]
async fn a_successor_that_was_presented_in_vain_ends_the_grace_too() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    assert_invalid_grant(
        mobile
            .exchange_token(refresh(&second.refresh_token, "app", None))
            .await,
    );
    assert!(mobile.is_alive(&second).await);
    assert_reused(mobile.refresh(&first.refresh_token).await);
    assert!(!mobile.is_alive(&second).await);
}

/// S9: using the new access token does not end this.
#[tokio::test]
async fn using_the_access_token_does_not_end_the_grace() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    assert!(mobile.is_alive(&second).await);
    mobile.record_uses().await.unwrap();
    let again = mobile.refresh(&first.refresh_token).await.unwrap();
    assert_eq!(pair(&again), pair(&second));
}

/// S10: even for one that was spent long ago, and after the background task has run.
#[tokio::test]
async fn a_token_spent_weeks_ago_still_ends_the_session() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let mut last = mobile.refresh(&first.refresh_token).await.unwrap();
    for _ in 0..3 {
        mobile.pass(20 * 24 * 3600);
        last = mobile.refresh(&last.refresh_token).await.unwrap();
        mobile.erase_successors().await.unwrap();
        mobile.delete_expired().await.unwrap();
    }
    assert!(mobile.is_alive(&last).await);
    assert_reused(mobile.refresh(&first.refresh_token).await);
    assert!(!mobile.is_alive(&last).await);
}

/// S14.
#[tokio::test]
async fn a_spent_token_with_a_wrong_client_or_install_ends_the_session() {
    for (client, install) in [
        ("other", Some("phone")),
        ("app", Some("tablet")),
        ("app", None),
    ] {
        let mobile = Mobile::new().await;
        let first = mobile.sign_in().await;
        let second = mobile.refresh(&first.refresh_token).await.unwrap();
        assert_reused(
            mobile
                .exchange_token(refresh(&first.refresh_token, client, install))
                .await,
        );
        assert!(!mobile.is_alive(&second).await, "{client} {install:?}");
    }
}

/// S14, for a client: one that does not exist is as wrong as any.
#[tokio::test]
async fn a_spent_token_with_an_unknown_client_ends_the_session() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    assert_reused(
        mobile
            .exchange_token(refresh(&first.refresh_token, "nobody", Some("phone")))
            .await,
    );
    assert!(!mobile.is_alive(&second).await);
}

/// S10: the whole session, and no other one of the same user.
#[tokio::test]
async fn other_sessions_of_the_user_go_on() {
    let mobile = Mobile::new().await;
    let (first, bystander) = (mobile.sign_in().await, mobile.sign_in().await);
    mobile.refresh(&first.refresh_token).await.unwrap();
    mobile.pass(31);
    assert_reused(mobile.refresh(&first.refresh_token).await);
    assert!(mobile.is_alive(&bystander).await);
    assert!(mobile.refresh(&bystander.refresh_token).await.is_ok());
}

/// Simultaneous refreshes with one token get one pair: none of them is mistaken for a thief's.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn simultaneous_refreshes_get_the_same_pair() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let refreshes = (0..16).map(|_| {
        let (app, token) = (mobile.service.app.clone(), first.refresh_token.clone());
        tokio::spawn(async move {
            app.exchange_token(refresh(&token, "app", Some("phone")))
                .await
        })
    });
    let answers = futures::future::join_all(refreshes).await;
    let answers: Vec<TokenSet> = answers
        .into_iter()
        .map(|answer| answer.unwrap().unwrap())
        .collect();
    assert!(
        answers
            .iter()
            .all(|answer| pair(answer) == pair(&answers[0]))
    );
    assert!(mobile.is_alive(&answers[0]).await);
    assert!(mobile.refresh(&answers[0].refresh_token).await.is_ok());
}

/// Its session would last for as long as the clock was ahead.
#[tokio::test]
async fn a_token_of_a_clock_that_was_years_ahead_is_good_for_nothing() {
    let mobile = Mobile::new().await;
    let right = mobile.service.clock.now();
    mobile.service.clock.advance(Duration::from_secs(10 * 365 * 24 * 3600));
    let ahead = mobile.sign_in().await;
    mobile.service.clock.set(right);
    assert_invalid_grant(mobile.refresh(&ahead.refresh_token).await);
    assert!(!mobile.is_alive(&ahead).await);
}

/// A clock that steps back neither ends a grace nor promises more than an hour.
#[tokio::test]
async fn a_clock_that_steps_back_costs_nothing() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    mobile
        .service
        .clock
        .set(super::super::support::START.before(Duration::from_secs(5)));
    let again = mobile.refresh(&first.refresh_token).await.unwrap();
    assert_eq!((pair(&again), again.expires_in), (pair(&second), 3600));
}

/// S8 and S9: in many sessions, the spent token and the unspent one at once. Whichever of the two comes first, the
/// other is answered as if it came second.
#[tokio::test]
async fn both_tokens_of_many_sessions_at_once_are_answered_one_after_the_other() {
    const SESSIONS: usize = 30;
    let mobile = Mobile::new().await;
    let mut tokens = Vec::new();
    for _ in 0..SESSIONS {
        let first = mobile.sign_in().await;
        let second = mobile.refresh(&first.refresh_token).await.unwrap();
        tokens.push((first.refresh_token, second));
    }
    let at_once = tokens.iter().map(|(spent, second)| async {
        futures::join!(mobile.refresh(spent), mobile.refresh(&second.refresh_token))
    });
    let answers = futures::future::join_all(at_once).await;
    for ((_, second), (repeated, third)) in tokens.iter().zip(answers) {
        match repeated {
            // The spent one came first: nothing was lost.
            Ok(repeated) => {
                assert_eq!(pair(&repeated), pair(second));
                let third = third.unwrap();
                assert!(mobile.is_alive(&third).await);
                mobile.refresh(&third.refresh_token).await.unwrap();
            }
            // The unspent one came first, and ended the grace: two parties held the spent one.
            reused => {
                assert_reused(reused);
                let third = third.unwrap();
                assert!(!mobile.is_alive(&third).await);
                assert_invalid_grant(mobile.refresh(&third.refresh_token).await);
            }
        }
    }
}

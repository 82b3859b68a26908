//! "a background task deletes expired records, codes and sessions in bounded steps".

use invoicing::domain::list::Part;

use super::*;

const TABLES: [&str; 4] = ["session", "access_token", "refresh_token", "auth_code"];

fn rows(mobile: &Mobile) -> [i64; 4] {
    TABLES.map(|table| mobile.service.database().rows(table))
}

#[tokio::test]
async fn an_unused_code_is_deleted_when_it_has_expired() {
    let mobile = Mobile::new().await;
    mobile.code().await;
    mobile.pass(59);
    mobile.delete_expired().await.unwrap();
    assert_eq!(rows(&mobile), [0, 0, 0, 1]);
    mobile.pass(1);
    mobile.delete_expired().await.unwrap();
    assert_eq!(rows(&mobile), [0, 0, 0, 0]);
}

/// The data that reveals a thief stays as long as the session: its code, and its spent tokens.
#[tokio::test]
async fn only_expired_access_tokens_of_a_living_session_are_deleted() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    mobile.refresh(&first.refresh_token).await.unwrap();
    mobile.pass(3600);
    mobile.delete_expired().await.unwrap();
    assert_eq!(rows(&mobile), [1, 0, 2, 1]);
}

#[tokio::test]
async fn a_session_that_is_over_is_deleted_with_all_that_belongs_to_it() {
    let mobile = Mobile::new().await;
    let (ended, expired) = (mobile.sign_in().await, mobile.sign_in().await);
    mobile.refresh(&expired.refresh_token).await.unwrap();
    let session = mobile
        .authenticate_access_token(&ended.access_token)
        .await
        .unwrap()
        .session_id;
    mobile.revoke_session(session).await.unwrap();
    mobile.delete_expired().await.unwrap();
    assert_eq!(rows(&mobile), [1, 2, 2, 1]);
    mobile.pass(30 * 24 * 3600);
    mobile.delete_expired().await.unwrap();
    assert_eq!(rows(&mobile), [0, 0, 0, 0]);
}

/// I6, in steps: a session with more tokens than one step takes goes in several.
#[tokio::test]
async fn a_session_of_many_refreshes_is_deleted_in_steps() {
    let mobile = Mobile::new().await;
    let mut tokens = mobile.sign_in().await;
    for _ in 0..600 {
        tokens = mobile.refresh(&tokens.refresh_token).await.unwrap();
    }
    assert_eq!(rows(&mobile), [1, 601, 601, 1]);
    mobile.delete_user(mobile.user.id).await.unwrap();
    mobile.delete_expired().await.unwrap();
    assert_eq!(rows(&mobile), [0, 0, 0, 0]);
}

#[tokio::test]
async fn the_background_tasks_delete_and_record_while_they_run() {
    let mobile = Mobile::new().await;
    mobile.code().await;
    mobile.pass(60);
    let tokens = mobile.sign_in().await;
    mobile.pass(120);
    assert!(mobile.is_alive(&tokens).await);
    let done = async {
        loop {
            let page = Part { after: None, limit: 10 };
            let sessions = mobile.list_sessions(None, page).await.unwrap();
            let is_recorded = sessions[0].last_used_at > sessions[0].created_at;
            // The unused code is gone; the one of the session stays.
            if is_recorded && rows(&mobile)[3] == 1 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let log = slog::Logger::root(slog::Discard, slog::o!());
    tokio::select! {
        () = mobile.run_background_tasks(&log) => panic!("they end"),
        done = tokio::time::timeout(Duration::from_secs(20), done) => done.expect("it is done"),
    }
}

//! "Removing a member, a user or a session takes effect at once." (Members: `member.rs`.)

use invoicing::domain::audit::{Action, Person};
use invoicing::domain::id::SessionId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;

use super::super::engine::RANDOM_EARLY_ID;
use super::super::signed_in::join;
use super::*;

/// S19, for a session, in every process.
#[tokio::test]
async fn a_revoked_session_is_over_at_once() {
    let mobile = Mobile::new().await;
    let (tokens, bystander) = (mobile.sign_in().await, mobile.sign_in().await);
    let session = mobile
        .authenticate_access_token(&tokens.access_token)
        .await
        .unwrap()
        .session_id;
    mobile
        .service
        .another()
        .await
        .revoke_session(session)
        .await
        .unwrap();
    assert!(!mobile.is_alive(&tokens).await);
    assert_invalid_grant(mobile.refresh(&tokens.refresh_token).await);
    assert!(mobile.is_alive(&bystander).await);
}

/// Revocation is permanent: within the grace, too, and when repeated.
#[tokio::test]
async fn a_revoked_session_has_no_grace() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let session = mobile
        .authenticate_access_token(&first.access_token)
        .await
        .unwrap()
        .session_id;
    mobile.refresh(&first.refresh_token).await.unwrap();
    mobile.revoke_session(session).await.unwrap();
    mobile.revoke_session(session).await.unwrap();
    assert_invalid_grant(mobile.refresh(&first.refresh_token).await);
}

#[tokio::test]
async fn a_session_that_the_operator_ends_is_told_of_once() {
    let mobile = Mobile::new().await;
    let tokens = mobile.sign_in().await;
    let found = mobile.authenticate_access_token(&tokens.access_token).await;
    let session = found.unwrap().session_id;
    for _ in 0..2 {
        mobile.revoke_session(session).await.unwrap();
        let events = mobile.service.app.list_audit_events(None, Part::default());
        let events = events.await.unwrap();
        let told = events.iter().filter(|it| it.action == Action::EndSession);
        let told: Vec<_> = told.map(|it| (it.actor, it.subject)).collect();
        assert_eq!(told, [(None, Some(session.0))]);
    }
}

#[tokio::test]
async fn an_unknown_session_cannot_be_revoked() {
    let mobile = Mobile::new().await;
    let result = mobile.revoke_session(SessionId(uuid::Uuid::nil())).await;
    assert!(matches!(
        result,
        Err(Error::Missing {
            noun: "session",
            ..
        })
    ));
}

/// S19, for a user: tokens, codes and memberships become worthless.
#[tokio::test]
async fn a_removed_user_is_signed_out_everywhere() {
    let mobile = Mobile::new().await;
    let sessions = [mobile.sign_in().await, mobile.sign_in().await];
    let code = mobile.code().await;
    mobile.delete_user(mobile.user.id).await.unwrap();
    for tokens in &sessions {
        assert!(!mobile.is_alive(tokens).await);
        assert_invalid_grant(mobile.refresh(&tokens.refresh_token).await);
    }
    assert_invalid_grant(mobile.exchange_token(Exchange::of(&code).into()).await);
    let issued = mobile.issue().await;
    assert!(matches!(issued, Err(Error::Missing { noun: "user", .. })));
}

/// A user who may be signed in to many apps, and another user.
struct Robbed {
    mobile: Mobile,
    person: Person,
}

impl Robbed {
    async fn new() -> Robbed {
        let mobile = Mobile::new().await;
        let team = mobile.service.team().await;
        let person = join(&mobile, team, "bo@example.com", Role::Viewer).await;
        mobile.sign_in().await;
        Robbed { mobile, person }
    }

    /// Adds some thousand sessions, as a thief may; sessions that a test starts itself are younger.
    fn pile_up(&self) {
        let columns = "client_id, created_at, last_used_at, expires_at";
        for _ in 0..12 {
            self.mobile.service.database().change(&format!(
                "INSERT INTO session (id, user_id, {columns}, generation) \
                 SELECT {RANDOM_EARLY_ID}, bo, {columns}, began \
                 FROM session, (SELECT id AS bo, session_generation AS began FROM \"user\" \
                     WHERE email = 'bo@example.com') AS of"
            ));
        }
    }

    async fn sign_in(&self) -> TokenSet {
        self.mobile.sign_in_as(self.person.user_id).await
    }

    async fn is_alive(&self, tokens: &TokenSet) -> bool {
        let found = self.mobile.authenticate_access_token(&tokens.access_token);
        match found.await {
            Ok(_) => true,
            Err(Error::InvalidToken) => false,
            Err(error) => panic!("{error:?}"),
        }
    }

    async fn end_all(&self) {
        let ended = self.mobile.end_app_sessions(self.person.clone());
        ended.await.unwrap();
    }

    /// How many are listed as alive.
    async fn listed(&self) -> usize {
        let listed = self.mobile.list_devices(self.person.user_id, Part::default(), Part::default()).await;
        listed.unwrap().1.len()
    }

    /// How many sessions the user has, in any state.
    fn rows(&self) -> i64 {
        self.mobile
            .service
            .database()
            .rows("session JOIN \"user\" ON \"user\".id = user_id WHERE email = 'bo@example.com'")
    }
}

/// V5 and P15: a thief who signs in again and again cannot prevent the user from ending all of it, which is one short
/// change.
#[tokio::test]
async fn any_number_of_sessions_of_a_user_ends_at_once() {
    let robbed = Robbed::new().await;
    let bystander = robbed.mobile.sign_in().await;
    let first = robbed.sign_in().await;
    robbed.pile_up();
    let last = robbed.sign_in().await;
    assert!(robbed.is_alive(&first).await && robbed.is_alive(&last).await);
    robbed.end_all().await;
    let marked = robbed
        .mobile
        .service
        .database()
        .rows("session WHERE ended_at IS NOT NULL");
    assert!(
        (1..1000).contains(&marked),
        "{marked} rows changed at once"
    );
    for tokens in [&first, &last] {
        assert!(!robbed.is_alive(tokens).await);
        let token = &tokens.refresh_token;
        let refreshed = robbed
            .mobile
            .exchange_token(refresh(token, "app", None))
            .await;
        assert_invalid_grant(refreshed);
    }
    assert_eq!(robbed.listed().await, 0);
    assert!(robbed.mobile.is_alive(&bystander).await);
}

/// A session that starts after the end of a pile works and ends as usual.
#[tokio::test]
async fn a_session_that_begins_behind_the_end_of_a_pile_is_alive() {
    let robbed = Robbed::new().await;
    robbed.pile_up();
    robbed.end_all().await;
    let next = robbed.sign_in().await;
    assert!(robbed.is_alive(&next).await);
    let token = &next.refresh_token;
    let refreshed = robbed
        .mobile
        .exchange_token(refresh(token, "app", None))
        .await;
    assert!(robbed.is_alive(&refreshed.unwrap()).await);
    assert_eq!(robbed.listed().await, 1);
    robbed.end_all().await;
    assert!(!robbed.is_alive(&next).await);
    assert_eq!(robbed.listed().await, 0);
}

/// The rows of an ended pile are deleted like those of other sessions, without any that is alive.
#[tokio::test]
async fn the_background_tasks_delete_a_pile_that_has_ended() {
    let robbed = Robbed::new().await;
    robbed.pile_up();
    robbed.end_all().await;
    let next = robbed.sign_in().await;
    assert!(robbed.rows() > 2_000, "{}", robbed.rows());
    robbed.mobile.empty_all().await.unwrap();
    robbed.mobile.delete_expired().await.unwrap();
    assert_eq!(robbed.rows(), 1);
    assert!(robbed.is_alive(&next).await);
    let left = "\"user\" WHERE swept_generations < session_generation";
    assert_eq!(robbed.mobile.service.database().rows(left), 0);
}

//! What happens to users of an app that is changed or deleted (`app/client_deletion.rs`).

use std::time::Instant;

use invoicing::domain::audit::Action;
use invoicing::domain::authorization::{AuthorizationParameters, Ruling};
use invoicing::domain::list::Part;

use super::*;
use super::super::engine::{RANDOM_DIGEST, RANDOM_ID};

impl Mobile {
    fn app_id(&self) -> ClientId {
        ClientId::new("app")
    }

    async fn make_app(&self) -> Result<(), Error> {
        let uris = [REDIRECT_URI.to_owned()];
        self.create_oauth_client("app", "An app", &uris).await.map(drop)
    }

    /// The audit of apps and sessions, newest first.
    pub async fn told(&self) -> Vec<(Action, Option<String>)> {
        let events = self.list_audit_events(None, Part::default()).await.unwrap();
        let told = |action| {
            use Action::{DeleteOauthClient, EndBrowserSession, EndSession, UpdateOauthClient};
            [DeleteOauthClient, EndBrowserSession, EndSession, UpdateOauthClient].contains(&action)
        };
        let events = events.into_iter().filter(|it| told(it.action));
        events.map(|it| (it.action, it.detail)).collect()
    }

    /// Deletes the app, as if interrupted right after the first step.
    fn mark_deleted(&self) {
        let mark = "UPDATE oauth_client SET deleted_at = 1795211340123 WHERE id = 'app'";
        self.service.database().change(mark);
    }

    /// Adds this many sessions like the existing one, each with a refresh token.
    pub fn many_sessions(&self, number: usize) {
        self.service.database().change(&format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {number}) \
             INSERT INTO session SELECT {RANDOM_ID}, user_id, client_id, install_id, user_agent, created_at, \
                 last_used_at, expires_at, ended_at, generation FROM (SELECT * FROM session LIMIT 1) AS one CROSS JOIN n; \
             INSERT INTO refresh_token (digest, session_id) SELECT {RANDOM_DIGEST}, id FROM session"
        ));
    }
}

fn is_unknown<T: std::fmt::Debug>(result: Result<T, Error>) {
    let unknown = matches!(&result, Err(Error::Missing { noun: "OAuth client", .. }));
    assert!(unknown, "{result:?}");
}

#[tokio::test]
async fn a_deleted_app_signs_nobody_in_and_nobody_stays_signed_in_by_it() {
    let mobile = Mobile::new().await;
    let tokens = [mobile.sign_in().await, mobile.sign_in().await];
    let code = mobile.code().await;
    let (client, ended) = mobile.delete_oauth_client(&mobile.app_id()).await.unwrap();
    assert_eq!((client.name.as_str(), client.redirect_uris.len(), ended), ("An app", 2, 2));
    for tokens in &tokens {
        assert!(!mobile.is_alive(tokens).await);
        assert_invalid_client(mobile.refresh(&tokens.refresh_token).await);
    }
    assert_invalid_client(mobile.exchange_token(Exchange::of(&code).into()).await);
    is_unknown(mobile.issue().await);
    is_unknown(mobile.get_oauth_client(mobile.app_id()).await);
    is_unknown(mobile.delete_oauth_client(&mobile.app_id()).await);
    let database = mobile.service.database();
    for table in ["session", "refresh_token", "auth_code", "oauth_client WHERE id = 'app'"] {
        assert_eq!(database.rows(table), 0, "{table}");
    }
    let of_app = Some("app".to_owned());
    let told = [(Action::EndSession, of_app.clone()), (Action::DeleteOauthClient, of_app)];
    assert_eq!(mobile.told().await, told);

    // Its id is free, and what was valid before does not become valid again.
    mobile.make_app().await.unwrap();
    for tokens in &tokens {
        assert!(!mobile.is_alive(tokens).await);
        assert_invalid_grant(mobile.refresh(&tokens.refresh_token).await);
    }
    assert_invalid_grant(mobile.exchange_token(Exchange::of(&code).into()).await);
    let again = mobile.sign_in().await;
    assert!(mobile.is_alive(&again).await);
}

#[tokio::test]
async fn other_apps_go_on() {
    let mobile = Mobile::new().await;
    let bystander = mobile.sign_in().await;
    let (_, ended) = mobile.delete_oauth_client(&ClientId::new("other")).await.unwrap();
    assert_eq!(ended, 0);
    assert!(mobile.is_alive(&bystander).await);
    mobile.refresh(&bystander.refresh_token).await.unwrap();
}

#[tokio::test]
async fn an_app_whose_deletion_was_interrupted_is_unknown_and_the_same_command_goes_on() {
    let mobile = Mobile::new().await;
    let (tokens, code) = (mobile.sign_in().await, mobile.code().await);
    mobile.mark_deleted();
    assert!(!mobile.is_alive(&tokens).await);
    assert_invalid_client(mobile.refresh(&tokens.refresh_token).await);
    assert_invalid_client(mobile.exchange_token(Exchange::of(&code).into()).await);
    is_unknown(mobile.issue().await);
    is_unknown(mobile.update_oauth_client(&mobile.app_id(), Some("Back"), None).await);
    let listed = mobile.list_oauth_clients(Part::default()).await.unwrap();
    assert_eq!(listed.len(), 1);
    let taken = mobile.make_app().await;
    assert!(matches!(&taken, Err(Error::Refused(why)) if why.contains("being deleted")), "{taken:?}");

    let (_, ended) = mobile.delete_oauth_client(&mobile.app_id()).await.unwrap();
    assert_eq!(ended, 1);
    // It was recorded when it started.
    let events = mobile.list_audit_events(None, Part::default()).await.unwrap();
    assert!(events.iter().all(|it| it.action != Action::DeleteOauthClient));
    mobile.make_app().await.unwrap();
}

#[tokio::test]
async fn a_running_server_goes_on_with_an_interrupted_deletion() {
    let mobile = Mobile::new().await;
    mobile.sign_in().await;
    mobile.code().await;
    mobile.mark_deleted();
    mobile.pass(60 * 60);
    mobile.delete_expired().await.unwrap();
    let database = mobile.service.database();
    for table in ["session", "refresh_token", "auth_code", "oauth_client WHERE id = 'app'"] {
        assert_eq!(database.rows(table), 0, "{table}");
    }
}

#[tokio::test]
async fn a_running_server_takes_no_session_that_the_command_has_yet_to_count() {
    let mobile = Mobile::new().await;
    mobile.sign_in().await;
    mobile.mark_deleted();
    mobile.pass(60 * 60 - 1);
    mobile.delete_expired().await.unwrap();
    let (_, ended) = mobile.delete_oauth_client(&mobile.app_id()).await.unwrap();
    assert_eq!(ended, 1);
}

/// More tokens than one step takes: the session stays until they are gone.
#[tokio::test]
async fn a_session_of_many_refreshes_goes_with_its_app() {
    let mobile = Mobile::new().await;
    let mut tokens = mobile.sign_in().await;
    for _ in 0..501 {
        tokens = mobile.refresh(&tokens.refresh_token).await.unwrap();
    }
    let (_, ended) = mobile.delete_oauth_client(&mobile.app_id()).await.unwrap();
    assert_eq!(ended, 1);
    for table in ["session", "access_token", "refresh_token"] {
        assert_eq!(mobile.service.database().rows(table), 0, "{table}");
    }
}

/// `INVOICING_SESSIONS` tries more than a thousand.
#[tokio::test]
async fn an_app_by_which_many_are_signed_in_ends_in_steps_that_others_do_not_wait_for() {
    let number = std::env::var("INVOICING_SESSIONS").map_or(1_200, |it| it.parse().unwrap());
    let mobile = Mobile::new().await;
    mobile.sign_in().await;
    mobile.many_sessions(number);
    let app = &mobile.service.app;
    let begun = Instant::now();
    let id = mobile.app_id();
    let mut deleted = std::pin::pin!(mobile.delete_oauth_client(&id));
    let (mut made, mut longest) = (0, Duration::ZERO);
    let (_, ended) = loop {
        let asked = Instant::now();
        tokio::select! {
            biased;
            deleted = &mut deleted => break deleted.unwrap(),
            team = app.create_team("Other") => team.unwrap(),
        };
        made += 1;
        longest = longest.max(asked.elapsed());
    };
    println!("{number} sessions: {:?}, the longest wait of others {longest:?}", begun.elapsed());
    assert_eq!(ended, number as u64 + 1);
    // In one step, they would have waited for all of it: changes of one process take turns.
    assert!(made > 1, "{made}");
    assert_eq!(mobile.service.database().rows("refresh_token"), 0);
    let told = mobile.told().await;
    assert_eq!(told.len(), 2, "{told:?}");
}

#[tokio::test]
async fn an_app_that_loses_a_redirect_uri_keeps_its_sessions_and_loses_its_unused_codes() {
    let mobile = Mobile::new().await;
    let (tokens, code) = (mobile.sign_in().await, mobile.code().await);
    let (id, kept) = (mobile.app_id(), mobile.code().await);
    let uris = [REDIRECT_URI.to_owned(), "com.example.app:/more".to_owned()];
    let more = ["https://example.com/cb".to_owned(), uris[0].clone(), uris[1].clone()];

    // An update that only adds URIs keeps the codes.
    let (old, new) = mobile.update_oauth_client(&id, None, Some(&more)).await.unwrap();
    assert_eq!((old.redirect_uris.len(), new.redirect_uris.len()), (2, 3));
    mobile.exchange_token(Exchange::of(&kept).into()).await.unwrap();

    let changed = mobile.update_oauth_client(&id, Some("New name"), Some(&uris)).await;
    let (old, new) = changed.unwrap();
    assert_eq!((old.name.as_str(), new.name.as_str()), ("An app", "New name"));
    assert_eq!((old.redirect_uris.len(), new.redirect_uris.len()), (3, 2));
    assert_eq!(mobile.get_oauth_client(id.clone()).await.unwrap(), new);
    assert_invalid_grant(mobile.exchange_token(Exchange::of(&code).into()).await);
    assert!(mobile.is_alive(&tokens).await);
    mobile.refresh(&tokens.refresh_token).await.unwrap();

    // An update that changes nothing is not recorded.
    let changed = mobile.update_oauth_client(&id, Some("New name"), Some(&uris)).await;
    let (old, new) = changed.unwrap();
    assert_eq!(old, new);
    let told = (Action::UpdateOauthClient, Some("app".to_owned()));
    assert_eq!(mobile.told().await, [told.clone(), told]);
}

/// A command that is killed in the middle is like one that cannot go on.
#[tokio::test]
async fn an_app_keeps_its_redirect_uris_as_long_as_it_has_codes_for_them() {
    let mobile = Mobile::new().await;
    let (id, code) = (mobile.app_id(), mobile.code().await);
    let before = mobile.get_oauth_client(id.clone()).await.unwrap();
    let database = mobile.service.database();
    database.change(
        "CREATE TABLE kept (digest bytea REFERENCES auth_code (digest)); \
         INSERT INTO kept SELECT digest FROM auth_code",
    );
    let fewer = [before.redirect_uris[0].clone()];
    let failed = mobile.update_oauth_client(&id, None, Some(&fewer)).await;
    assert!(failed.is_err(), "{failed:?}");
    assert_eq!(mobile.get_oauth_client(id.clone()).await.unwrap(), before);
    database.change("DROP TABLE kept");
    mobile.exchange_token(Exchange::of(&code).into()).await.unwrap();
}

#[tokio::test]
async fn codes_of_an_app_go_in_steps_before_it_loses_a_redirect_uri() {
    let mobile = Mobile::new().await;
    let (id, code) = (mobile.app_id(), mobile.code().await);
    mobile.service.database().change(&format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) \
         INSERT INTO auth_code (digest, client_id, redirect_uri, code_challenge, user_id, expires_at) \
         SELECT {RANDOM_DIGEST}, client_id, redirect_uri, code_challenge, user_id, expires_at \
         FROM (SELECT * FROM auth_code LIMIT 1) AS one CROSS JOIN n"
    ));
    let uris = [REDIRECT_URI.to_owned()];
    let (_, new) = mobile.update_oauth_client(&id, None, Some(&uris)).await.unwrap();
    assert_eq!(new.redirect_uris, uris);
    assert_eq!(mobile.service.database().rows("auth_code"), 0);
    assert_invalid_grant(mobile.exchange_token(Exchange::of(&code).into()).await);
    let told = (Action::UpdateOauthClient, Some("app".to_owned()));
    assert_eq!(mobile.told().await, [told]);
}

#[tokio::test]
async fn an_app_is_changed_to_what_could_be_made() {
    let mobile = Mobile::new().await;
    let id = mobile.app_id();
    let before = mobile.get_oauth_client(id.clone()).await.unwrap();
    for uris in [vec![], vec!["javascript:alert(1)".to_owned()]] {
        let refused = mobile.update_oauth_client(&id, Some("New"), Some(&uris)).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    }
    let refused = mobile.update_oauth_client(&id, Some(" "), None).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    is_unknown(mobile.update_oauth_client(&ClientId::new("nobody"), Some("New"), None).await);
    assert_eq!(mobile.get_oauth_client(id).await.unwrap(), before);
    assert_eq!(mobile.told().await, []);
}

#[tokio::test]
async fn a_request_of_a_deleted_app_is_not_answered_to_anybody() {
    let mobile = Mobile::new().await;
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    let query = format!(
        "response_type=code&client_id=app&redirect_uri=com.example.app%3A%2Fsigned-in\
         &code_challenge={challenge}&code_challenge_method=S256"
    );
    let ruling = async || {
        let asked = AuthorizationParameters::parse(&query);
        mobile.check_authorization_request(None, asked).await.unwrap()
    };
    assert!(matches!(ruling().await, Ruling::Ask(..)));
    mobile.mark_deleted();
    assert!(matches!(ruling().await, Ruling::Stop(_)));
}

#[tokio::test]
async fn a_code_of_the_command_line_and_an_app_that_is_made_are_told_of() {
    let mobile = Mobile::new().await;
    mobile.issue().await.unwrap();
    let refused = mobile.make_app().await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    let events = mobile.list_audit_events(None, Part::default()).await.unwrap();
    let told: Vec<_> = events.iter().map(|it| (it.action, it.subject, it.detail.as_deref())).collect();
    let made = |app| (Action::CreateOauthClient, None, Some(app));
    let issued = (Action::IssueAuthCode, Some(mobile.user.id.0), Some("app"));
    let user = (Action::CreateUser, Some(mobile.user.id.0), None);
    assert_eq!(told, [issued, user, made("other"), made("app")]);
}

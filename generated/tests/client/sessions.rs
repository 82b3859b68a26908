//! The token source: one renewal for all, saved before it is used.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures::future::join_all;
use invoicing_client::{
    Client, Error, InMemory, OAuthCode, Pkce, RetryPolicy, Session, SessionStore, TokenSource,
};

use crate::stub::{Reply, Request, Stub};
use crate::{FILE, TEAM, builder};

/// The user whose tokens the stub issues.
const USER: &str = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a01";

/// A session whose access token expires in this many seconds.
pub fn session(seconds: i64) -> Session {
    let now = chrono::DateTime::<chrono::Utc>::from(SystemTime::now());
    serde_json::from_value(serde_json::json!({
        "user_id": USER,
        "client_id": "app",
        "install_id": "phone-1",
        "access_token": "access-0",
        "refresh_token": "refresh-0",
        "expires_at": now + chrono::Duration::seconds(seconds),
    }))
    .unwrap()
}

/// A client without retries.
pub fn client(stub: &Stub) -> Client {
    builder(stub).retry(RetryPolicy::off()).build().unwrap()
}

fn is_refresh(request: &Request) -> bool {
    request.target == "/api/auth/mobile/token"
}

fn refreshes(stub: &Stub) -> usize {
    stub.requests()
        .iter()
        .filter(|request| is_refresh(request))
        .count()
}

/// Refreshes to `access-1`, `access-2`, ..., and lists links for the tokens that `valid` accepts.
fn service(valid: impl Fn(&str) -> bool + Send + Sync + 'static) -> Stub {
    let count = AtomicUsize::new(0);
    Stub::start(move |request| {
        if is_refresh(request) {
            let next = count.fetch_add(1, Ordering::SeqCst) + 1;
            return Reply::tokens(&format!("access-{next}"), &format!("refresh-{next}"));
        }
        let token = request
            .header("authorization")
            .unwrap()
            .strip_prefix("Bearer ")
            .unwrap();
        match valid(token) {
            true => Stub::links(),
            false => Reply::error(401, "authentication_error", "invalid_token"),
        }
    })
}

/// What happened to it, in order.
#[derive(Clone, Default)]
struct Store {
    events: Arc<Mutex<Vec<String>>>,
    broken: Arc<AtomicBool>,
}

impl Store {
    fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }
}

impl SessionStore for Store {
    type Error = std::io::Error;

    async fn load(&self) -> std::io::Result<Option<Session>> {
        Ok(None)
    }

    async fn save(&self, session: &Session) -> std::io::Result<()> {
        let token = session.refresh_token.as_str();
        self.events.lock().unwrap().push(format!("save {token}"));
        match self.broken.load(Ordering::SeqCst) {
            true => Err(std::io::Error::other("disk full")),
            false => Ok(()),
        }
    }

    async fn forget(&self) -> std::io::Result<()> {
        self.events.lock().unwrap().push("forget".to_owned());
        Ok(())
    }
}

async fn list(client: &Client) -> Result<(), Error> {
    client
        .links()
        .list(TEAM, "file", FILE)
        .send()
        .await
        .map(|_| ())
}

#[tokio::test]
async fn a_token_that_is_valid_long_enough_is_used_as_it_is() {
    let stub = service(|_| true);
    let tokens = TokenSource::new(&client(&stub), session(120), InMemory);
    assert_eq!(tokens.access_token().await.unwrap().as_str(), "access-0");
    assert_eq!(stub.requests().len(), 0);
}

#[tokio::test]
async fn a_token_is_renewed_shortly_before_its_end() {
    let stub = service(|_| true);
    let tokens = TokenSource::new(&client(&stub), session(30), InMemory);
    assert_eq!(tokens.access_token().await.unwrap().as_str(), "access-1");
    assert_eq!(tokens.access_token().await.unwrap().as_str(), "access-1");
    let requests = stub.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].json(),
        serde_json::json!({
            "grant_type": "refresh_token", "refresh_token": "refresh-0", "client_id": "app",
            "install_id": "phone-1",
        })
    );
    assert_eq!(requests[0].header("authorization"), None);
    let session = tokens.session().unwrap();
    assert_eq!(session.install_id.unwrap().as_str(), "phone-1");
    assert_eq!(session.refresh_token.as_str(), "refresh-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_share_one_renewal() {
    let stub = service(|token| token == "access-1");
    let signed_in = client(&stub).with_session(session(-1), InMemory);
    let calls = (0..64).map(|_| {
        let client = signed_in.clone();
        tokio::spawn(async move { list(&client).await })
    });
    for result in join_all(calls).await {
        result.unwrap().unwrap();
    }
    assert_eq!(refreshes(&stub), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_the_service_rejects_is_renewed_once_for_all() {
    let stub = service(|token| token == "access-1");
    let signed_in = client(&stub).with_session(session(3600), InMemory);
    let calls = (0..32).map(|_| {
        let client = signed_in.clone();
        tokio::spawn(async move { list(&client).await })
    });
    for result in join_all(calls).await {
        result.unwrap().unwrap();
    }
    assert_eq!(refreshes(&stub), 1);
}

#[tokio::test]
async fn a_call_that_is_rejected_twice_fails() {
    let stub = service(|_| false);
    let signed_in = client(&stub).with_session(session(3600), InMemory);
    assert_eq!(list(&signed_in).await.unwrap_err().status().unwrap(), 401);
    assert_eq!(refreshes(&stub), 1);
}

#[tokio::test]
async fn a_fixed_access_token_is_not_renewed() {
    let stub = service(|_| false);
    assert_eq!(
        list(&client(&stub)).await.unwrap_err().status().unwrap(),
        401
    );
    assert_eq!(stub.requests().len(), 1);
}

#[tokio::test]
async fn a_renewed_session_is_saved_before_it_is_used() {
    let stub = Arc::new(service(|token| token == "access-1"));
    struct Watching(Arc<Stub>, Store);
    impl SessionStore for Watching {
        type Error = std::io::Error;
        async fn load(&self) -> std::io::Result<Option<Session>> {
            Ok(None)
        }
        async fn save(&self, session: &Session) -> std::io::Result<()> {
            assert_eq!(self.0.requests().len(), 1, "only the refresh was sent");
            self.1.save(session).await
        }
        async fn forget(&self) -> std::io::Result<()> {
            self.1.forget().await
        }
    }
    let store = Store::default();
    let watching = Watching(stub.clone(), store.clone());
    let signed_in = client(&stub).with_session(session(-1), watching);
    list(&signed_in).await.unwrap();
    assert_eq!(store.events(), ["save refresh-1"]);
}

#[tokio::test]
async fn a_session_that_cannot_be_saved_is_not_used_and_not_lost() {
    let stub = service(|_| true);
    let store = Store::default();
    store.broken.store(true, Ordering::SeqCst);
    let tokens = TokenSource::new(&client(&stub), session(-1), store.clone());
    let error = tokens.access_token().await.unwrap_err();
    let Error::Renewal(cause) = &error else {
        panic!("{error}")
    };
    assert!(matches!(**cause, Error::Store(_)));
    assert!(error.to_string().contains("disk full"), "{error}");
    assert_eq!(tokens.session().unwrap().access_token.as_str(), "access-0");

    store.broken.store(false, Ordering::SeqCst);
    assert_eq!(tokens.access_token().await.unwrap().as_str(), "access-1");
    assert_eq!(store.events(), ["save refresh-1", "save refresh-1"]);
    assert_eq!(refreshes(&stub), 1);
}

#[tokio::test]
async fn the_end_of_the_session_is_kept_and_nothing_more_is_asked() {
    let stub = Stub::script([Reply::oauth_error(400, "invalid_grant")]);
    let store = Store::default();
    let tokens = TokenSource::new(&client(&stub), session(-1), store.clone());
    let signed_in = client(&stub).with_token_source(tokens.clone());
    let results = join_all((0..8).map(|_| list(&signed_in))).await;
    assert!(
        results
            .iter()
            .all(|result| matches!(result, Err(Error::SignedOut)))
    );
    assert!(matches!(tokens.access_token().await, Err(Error::SignedOut)));
    assert_eq!(tokens.session(), None);
    assert_eq!(store.events(), ["forget"]);
    assert_eq!(stub.requests().len(), 1);
}

#[tokio::test]
async fn a_session_that_ends_early_signs_out_on_the_next_call() {
    let stub = Stub::start(|request| match is_refresh(request) {
        true => Reply::oauth_error(400, "invalid_grant"),
        false => Reply::error(401, "authentication_error", "invalid_token"),
    });
    let store = Store::default();
    let signed_in = client(&stub).with_session(session(3600), store.clone());
    assert!(matches!(list(&signed_in).await, Err(Error::SignedOut)));
    assert_eq!(store.events(), ["forget"]);
}

#[tokio::test]
async fn a_wrong_client_does_not_sign_out() {
    let stub = Stub::script([Reply::oauth_error(400, "invalid_client")]);
    let store = Store::default();
    let tokens = TokenSource::new(&client(&stub), session(-1), store.clone());
    let error = tokens.access_token().await.unwrap_err();
    assert_eq!(error.status().unwrap(), 400);
    assert!(tokens.session().is_some() && store.events().is_empty());
}

#[tokio::test]
async fn a_renewal_that_fails_is_tried_again_by_the_next_call() {
    let down = Reply::oauth_error(503, "temporarily_unavailable");
    let stub = Stub::script([down, Reply::tokens("access-1", "refresh-1")]);
    let tokens = TokenSource::new(&client(&stub), session(-1), InMemory);
    let waiting = join_all((0..8).map(|_| tokens.access_token())).await;
    for result in waiting {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Renewal(_)));
        assert_eq!(error.status().unwrap(), 503);
    }
    assert_eq!(stub.requests().len(), 1);
    assert_eq!(tokens.access_token().await.unwrap().as_str(), "access-1");
}

#[tokio::test]
async fn a_token_that_is_still_valid_outlasts_a_failed_renewal() {
    let stub = Stub::script([Reply::oauth_error(503, "temporarily_unavailable")]);
    let tokens = TokenSource::new(&client(&stub), session(30), InMemory);
    assert_eq!(tokens.access_token().await.unwrap().as_str(), "access-0");
}

#[tokio::test]
async fn a_caller_that_gives_up_does_not_lose_the_new_pair() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let stub = Stub::start(move |_| {
        wait.lock().unwrap().recv().unwrap();
        Reply::tokens("access-1", "refresh-1")
    });
    let store = Store::default();
    let tokens = TokenSource::new(&client(&stub), session(-1), store.clone());
    let impatient = tokio::time::timeout(Duration::from_millis(20), tokens.access_token());
    assert!(impatient.await.is_err());
    release.send(()).unwrap();
    assert_eq!(tokens.access_token().await.unwrap().as_str(), "access-1");
    assert_eq!(store.events(), ["save refresh-1"]);
    assert_eq!(stub.requests().len(), 1);
}

#[tokio::test]
async fn the_outcome_of_an_abandoned_renewal_is_not_taken_for_a_later_one() {
    // Tokens that expire at once: every call needs a renewal of its own.
    let count = AtomicUsize::new(0);
    let stub = Stub::start(move |_| {
        let next = count.fetch_add(1, Ordering::SeqCst) + 1;
        let expired = r#""expires_in":0"#;
        let reply = Reply::tokens(&format!("access-{next}"), &format!("refresh-{next}"));
        reply.replace(r#""expires_in":3600"#, expired)
    });
    let store = Store::default();
    let tokens = TokenSource::new(&client(&stub), session(-1), store.clone());
    drop(futures::poll!(std::pin::pin!(tokens.access_token())));
    while store.events().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(tokens.access_token().await.unwrap().as_str(), "access-2");
}

#[tokio::test]
async fn a_store_that_panics_fails_the_call_only() {
    struct Panics;
    impl SessionStore for Panics {
        type Error = std::io::Error;
        async fn load(&self) -> std::io::Result<Option<Session>> {
            Ok(None)
        }
        async fn save(&self, _: &Session) -> std::io::Result<()> {
            panic!("a mistake of the app")
        }
        async fn forget(&self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let stub = service(|_| true);
    let tokens = TokenSource::new(&client(&stub), session(-1), Panics);
    for _ in 0..2 {
        assert!(matches!(
            tokens.access_token().await,
            Err(Error::Renewal(_))
        ));
    }
    assert_eq!(
        refreshes(&stub),
        1,
        "the pair is kept until it can be saved"
    );
}

#[tokio::test]
async fn a_session_survives_being_stored() {
    let stub = Stub::example();
    let pkce = Pkce::generate();
    let client = client(&stub);
    let call = client
        .sessions()
        .exchange_code("code", pkce.verifier(), "app:/in", "app");
    let session = call
        .install_id("phone-1")
        .user_agent("App 1")
        .send()
        .await
        .unwrap();
    let stored = serde_json::to_string(&session).unwrap();
    assert_eq!(serde_json::from_str::<Session>(&stored).unwrap(), session);
    assert_eq!(
        stub.requests()[0].json(),
        serde_json::json!({
            "grant_type": "authorization_code", "code": "code", "code_verifier": pkce.verifier(),
            "redirect_uri": "app:/in", "client_id": "app", "install_id": "phone-1",
            "user_agent": "App 1",
        })
    );
    let lifetime = session.expires_at - chrono::DateTime::<chrono::Utc>::from(SystemTime::now());
    assert!(
        (3500..=3600).contains(&lifetime.num_seconds()),
        "{lifetime}"
    );
}

#[tokio::test]
async fn a_revocation_is_sent_as_a_form_and_again_until_it_is_answered() {
    let attempts = AtomicUsize::new(0);
    let stub = Stub::start(move |_| match attempts.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::hang_up(),
        1 => Reply::oauth_error(503, "temporarily_unavailable").header("retry-after", "0"),
        _ => Reply::new(200),
    });
    let client = builder(&stub).api_key("inv_test_x").build().unwrap();
    let call = client.sessions().revoke("a+b &c", "app");
    assert_eq!(call.send_for_response().await.unwrap().status(), 200);
    let requests = stub.requests();
    assert_eq!(requests.len(), 3);
    for request in requests {
        assert_eq!(
            (&request.method[..], &request.target[..], &request.body[..]),
            (
                "POST",
                "/api/auth/mobile/revoke",
                "token=a%2Bb+%26c&client_id=app"
            )
        );
        let form = "application/x-www-form-urlencoded";
        assert_eq!(request.header("content-type"), Some(form));
        assert_eq!(request.header("authorization"), None);
    }
}

#[tokio::test]
async fn a_revocation_that_is_refused_says_why() {
    let stub = Stub::start(|_| Reply::oauth_error(400, "invalid_grant"));
    let client = client(&stub);
    let refused = client.sessions().revoke("refresh-1", "app").send().await;
    let Err(Error::OAuth(error)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(error.code, OAuthCode::InvalidGrant);
    let wrong = client.sessions().revoke("refresh-1", "").send().await;
    let Err(Error::InvalidRequest(wrong)) = wrong else {
        panic!("{wrong:?}")
    };
    assert!(wrong.to_string().contains("client_id"), "{wrong}");
    assert_eq!(stub.requests().len(), 1);
}

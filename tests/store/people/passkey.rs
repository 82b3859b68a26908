//! Passkeys: what a device is asked for, signing in and confirming, and everything that is refused. Which passkeys a
//! user has, and until when, is in `passkey_kept.rs`.

use std::sync::Arc;
use std::time::Duration;

use invoicing::app::App;
use invoicing::app::sign_in::{Browser, Cookies};
use invoicing::domain::Error;
use invoicing::domain::audit::Action;
use invoicing::domain::browser_session::InBrowser;
use invoicing::domain::id::UserId;
use invoicing::domain::list::Part;
use invoicing::domain::passkey::ceremony::{Answer, Asked};
use invoicing::domain::passkey::RelyingParty;
use invoicing::domain::secret::Secret;
use invoicing::domain::time::Clock as _;
use invoicing::domain::ways_to_sign_in::SwitchedOn;
use invoicing::store::{Sql, password};
use test_support::passkey::Passkey;

use super::super::support::Service;
use super::support::{EMAIL, PASSWORD, browser, look_up, person, set_up, sign_in};

pub(super) const ORIGIN: &str = "https://invoices.example.com";
pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// A service with pages and Ada, and her first browser.
pub(super) async fn with_ada() -> (Service, InBrowser) {
    let mut service = Service::new().await;
    service.app = Arc::new(another_at(&service, ORIGIN).await);
    let link = service.app.create_set_up_link().await.unwrap().secret;
    let cookies = set_up(&service, &link).await.unwrap();
    let ada = look_up(&service, &cookies).await.unwrap();
    (service, ada)
}

/// A second service over the same database, with pages at this origin.
pub(super) async fn another_at(service: &Service, origin: &str) -> App {
    let on = SwitchedOn {
        relying_party: RelyingParty::of(origin),
        ..SwitchedOn::default()
    };
    let app = service.another().await.signing_in_by(on);
    app.reached_at(Some(origin.to_owned()))
}

pub(super) async fn forget_password(service: &Service, user_id: UserId) {
    let delete = async move |sql: Sql<'_>| sql.run(password::delete(user_id)).await.map(drop);
    service.store.write(user_id, delete).await.unwrap();
}

/// The same, with a passkey of Ada.
pub async fn with_passkey() -> (Service, InBrowser, Passkey) {
    let (service, ada) = with_ada().await;
    let passkey = add(&service.app, &ada).await;
    (service, ada, passkey)
}

pub fn answer(asked: &Asked, credential: String) -> Answer {
    Answer {
        challenge: asked.challenge.clone(),
        credential,
    }
}

pub(super) async fn ask_to_add(app: &App, ada: &InBrowser) -> Asked {
    app.ask_to_add(ada).await.unwrap().unwrap()
}

pub(super) async fn add(app: &App, ada: &InBrowser) -> Passkey {
    let asked = ask_to_add(app, ada).await;
    let (passkey, credential) = Passkey::make(&asked.options, ORIGIN);
    let answer = answer(&asked, credential);
    app.add_passkey(person(ada), "Phone", &answer).await.unwrap();
    passkey
}

/// A browser in which no user is signed in, with the secret from its cookie.
pub fn stranger() -> (Secret, Browser) {
    (Secret::base64url(), browser("192.0.2.7"))
}

pub(super) async fn enter(app: &App, passkey: &Passkey) -> Result<Cookies, Error> {
    let (secret, browser) = stranger();
    enter_in(app, passkey, &secret, browser).await
}

async fn enter_in(app: &App, passkey: &Passkey, secret: &Secret, browser: Browser) -> Result<Cookies, Error> {
    let asked = app.ask_to_sign_in(secret).await.unwrap().unwrap();
    let answer = answer(&asked, passkey.sign(&asked.options));
    app.sign_in_by_passkey(&answer, secret, browser).await
}

#[track_caller]
pub(super) fn refused<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::PasskeyRefused)), "{result:?}");
}

pub(super) async fn actions(service: &Service, ada: &InBrowser) -> Vec<Action> {
    let events = service.app.list_own_events(ada.user.id, Part::default());
    events.await.unwrap().iter().map(|it| it.action).collect()
}

#[tokio::test]
async fn a_passkey_signs_its_user_in_and_never_waits_for_wrong_passwords() {
    let (service, ada, passkey) = with_passkey().await;
    for _ in 0..11 {
        _ = sign_in(&service, EMAIL, "wrong", browser("192.0.2.7")).await;
    }
    let held = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.7")).await;
    assert!(matches!(held, Err(Error::TooManyWrongPasswords(_))), "{held:?}");
    let cookies = enter(&service.app, &passkey).await.unwrap();
    let signed_in = look_up(&service, &cookies).await.unwrap();
    assert_eq!(signed_in.user, ada.user);
    assert_ne!(signed_in.session.id, ada.session.id);
    // The account has a password, so this browser is counted separately from now on.
    let mut known = browser("192.0.2.7");
    known.device = cookies.device;
    sign_in(&service, EMAIL, PASSWORD, known).await.unwrap();
    let listed = service.app.list_passkeys(ada.user.id).await.unwrap();
    assert_eq!(listed[0].name, "Phone");
    assert_eq!(listed[0].rp_id, "invoices.example.com");
    assert_eq!(listed[0].last_used_at, Some(service.clock.now()));
}

/// P32: it would count as new again otherwise.
#[tokio::test]
async fn a_browser_that_is_known_stays_as_old_when_its_user_signs_in_by_a_passkey() {
    let (service, _ada, passkey) = with_passkey().await;
    let enter = async |device| {
        let (secret, browser) = stranger();
        let browser = Browser { device, ..browser };
        enter_in(&service.app, &passkey, &secret, browser).await.unwrap().device.unwrap()
    };
    let first = enter(None).await;
    service.clock.advance(Duration::from_secs(60));
    let (second, other) = (enter(Some(first.clone())).await, enter(None).await);
    // Such a cookie begins with its time: six bytes.
    let time = |device: &Secret| device.reveal()[..8].to_owned();
    assert_eq!(time(&second), time(&first));
    assert_ne!(time(&other), time(&first));
    assert_ne!(second.reveal(), first.reveal());
}

#[tokio::test]
async fn a_device_is_asked_for_a_passkey_that_finds_and_verifies_its_user() {
    let (service, ada, _) = with_passkey().await;
    let asked = ask_to_add(&service.app, &ada).await;
    let options: serde_json::Value = serde_json::from_str(&asked.options).unwrap();
    let selection = &options["authenticatorSelection"];
    assert_eq!(selection["residentKey"], "required");
    assert_eq!(selection["userVerification"], "required");
    assert_eq!(options["attestation"], "none");
    assert_eq!(options["rp"]["id"], "invoices.example.com");
    assert_eq!(options["user"]["name"], EMAIL);
    assert_eq!(options["excludeCredentials"].as_array().unwrap().len(), 1);
    let asked = service.app.ask_to_sign_in(&Secret::base64url()).await;
    let options: serde_json::Value = serde_json::from_str(&asked.unwrap().unwrap().options).unwrap();
    assert_eq!(options["userVerification"], "required");
    let allowed = options["allowCredentials"].as_array();
    assert!(allowed.is_none_or(Vec::is_empty), "{options}");
}

#[tokio::test]
async fn what_a_passkey_signs_elsewhere_or_unverified_is_refused() {
    let (service, _, passkey) = with_passkey().await;
    let lies: [fn(&mut Passkey); 7] = [
        |it| it.origin = "https://evil.example".into(),
        |it| it.origin = "http://invoices.example.com".into(),
        |it| it.origin = "https://invoices.example.com:8443".into(),
        |it| it.rp_id = "evil.example".into(),
        |it| it.is_verified = false,
        |it| it.user_handle = "AAAAAAAAAAAAAAAAAAAAAA".into(),
        |it| it.id = vec![7; 16],
    ];
    let mut passkey = passkey;
    for (number, lie) in lies.into_iter().enumerate() {
        let kept = (passkey.origin.clone(), passkey.rp_id.clone(), passkey.user_handle.clone(), passkey.id.clone());
        lie(&mut passkey);
        let entered = enter(&service.app, &passkey).await;
        assert!(matches!(entered, Err(Error::PasskeyRefused)), "{number}: {entered:?}");
        (passkey.origin, passkey.rp_id, passkey.user_handle, passkey.id) = kept;
        passkey.is_verified = true;
    }
    enter(&service.app, &passkey).await.unwrap();
}

#[tokio::test]
async fn a_signature_that_is_not_the_keys_is_refused() {
    let (service, ada, passkey) = with_passkey().await;
    // Another key that claims to be this one.
    let asked = ask_to_add(&service.app, &ada).await;
    let (mut other, _) = Passkey::make(&asked.options, ORIGIN);
    other.id = passkey.id.clone();
    refused(enter(&service.app, &other).await);
    for text in ["", "{}", "null", &"[".repeat(1000), &" ".repeat(40_000)] {
        let (secret, browser) = stranger();
        let asked = service.app.ask_to_sign_in(&secret).await.unwrap().unwrap();
        let answer = answer(&asked, text.to_owned());
        refused(service.app.sign_in_by_passkey(&answer, &secret, browser).await);
    }
}

/// P33. Each use leaves rows behind for months.
#[tokio::test]
async fn whoever_uses_a_passkey_very_often_waits_and_leaves_nothing_behind() {
    let (service, ada, passkey) = with_passkey().await;
    let mut used = 0;
    let refused = loop {
        assert!(used < 200, "it is never refused");
        match enter(&service.app, &passkey).await {
            Ok(_) => used += 1,
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
    // One of them may be again after ten seconds.
    assert!((100..110).contains(&used), "{used}");
    let told = actions(&service, &ada).await;
    let told = told.iter().filter(|it| **it == Action::SignIn);
    assert_eq!(told.count(), used + 1);
}

#[tokio::test]
async fn an_answer_without_a_user_is_refused() {
    let (service, _, passkey) = with_passkey().await;
    let own = format!("\"userHandle\":\"{}\"", passkey.user_handle);
    for other in ["\"userHandle\":null", "\"userHandle\":7", "\"userHandle\":\"\"", "\"other\":\"\""] {
        let (secret, browser) = stranger();
        let asked = service.app.ask_to_sign_in(&secret).await.unwrap().unwrap();
        let signed = passkey.sign(&asked.options);
        assert!(signed.contains(&own), "{signed}");
        let answer = answer(&asked, signed.replace(&own, other));
        refused(service.app.sign_in_by_passkey(&answer, &secret, browser).await);
    }
}

#[tokio::test]
async fn a_challenge_is_good_once_for_five_minutes_in_one_browser_for_one_purpose() {
    let (service, ada, passkey) = with_passkey().await;
    let app = &service.app;
    let (secret, at) = stranger();
    let asked = app.ask_to_sign_in(&secret).await.unwrap().unwrap();
    let other = app.ask_to_sign_in(&secret).await.unwrap().unwrap();
    let signed = answer(&asked, passkey.sign(&asked.options));
    let enter = async |answer: &Answer, secret: &Secret| {
        app.sign_in_by_passkey(answer, secret, at.clone()).await
    };
    // Another browser, another challenge, another purpose.
    refused(enter(&signed, &Secret::base64url()).await);
    let mixed = Answer {
        challenge: other.challenge.clone(),
        ..signed.clone()
    };
    refused(enter(&mixed, &secret).await);
    refused(app.confirm_by_passkey(&ada, &signed, at.clone()).await);
    refused(app.add_passkey(person(&ada), "x", &signed).await);
    let to_confirm = app.ask_to_confirm(&ada).await.unwrap().unwrap();
    let confirming = answer(&to_confirm, passkey.sign(&to_confirm.options));
    refused(enter(&confirming, &secret).await);
    // It is valid on another replica, too, and only once.
    let another = another_at(&service, ORIGIN).await;
    another.sign_in_by_passkey(&signed, &secret, at.clone()).await.unwrap();
    refused(enter(&signed, &secret).await);
    // The other one has not been answered; it is valid until it is too old.
    let late = answer(&other, passkey.sign(&other.options));
    service.clock.advance(5 * MINUTE);
    refused(enter(&late, &secret).await);
    // A spent one is forgotten once it is too old anyway.
    app.delete_expired().await.unwrap();
    refused(enter(&signed, &secret).await);
}

#[tokio::test]
async fn of_many_answers_to_one_challenge_at_once_one_is_good() {
    let (service, _, passkey) = with_passkey().await;
    let (secret, at) = stranger();
    let asked = service.app.ask_to_sign_in(&secret).await.unwrap().unwrap();
    let signed = answer(&asked, passkey.sign(&asked.options));
    let enter = || service.app.sign_in_by_passkey(&signed, &secret, at.clone());
    let entered = futures::future::join_all((0..8).map(|_| enter())).await;
    assert_eq!(entered.iter().filter(|it| it.is_ok()).count(), 1, "{entered:?}");
}

#[tokio::test]
async fn a_counter_that_does_not_go_on_is_refused_and_told() {
    let (service, ada, mut passkey) = with_passkey().await;
    passkey.count = 5;
    enter(&service.app, &passkey).await.unwrap();
    for count in [5, 4, 0] {
        passkey.count = count;
        refused(enter(&service.app, &passkey).await);
    }
    let told = actions(&service, &ada).await;
    let told = told.iter().filter(|it| **it == Action::RefusePasskey);
    assert_eq!(told.count(), 3);
    passkey.count = 6;
    enter(&service.app, &passkey).await.unwrap();
    // A repeated answer is recorded only once.
    passkey.count = 1;
    let (secret, at) = stranger();
    let asked = service.app.ask_to_sign_in(&secret).await.unwrap().unwrap();
    let signed = answer(&asked, passkey.sign(&asked.options));
    for _ in 0..3 {
        refused(service.app.sign_in_by_passkey(&signed, &secret, at.clone()).await);
    }
    let told = service.app.list_refused_passkeys(ada.user.id).await.unwrap();
    assert_eq!(told.len(), 4);
    for event in told {
        assert_eq!(event.client_address.as_deref(), Some("192.0.2.7"));
        assert_eq!(event.user_agent.as_deref(), Some("Browser/1"));
    }
}

#[tokio::test]
async fn whoever_has_a_copy_keeps_its_owner_from_nothing_and_the_audit_small() {
    let (service, ada, mut passkey) = with_passkey().await;
    passkey.count = 5;
    enter(&service.app, &passkey).await.unwrap();
    for _ in 0..150 {
        refused(enter(&service.app, &passkey).await);
    }
    let told = service.app.list_refused_passkeys(ada.user.id).await.unwrap();
    assert!((100..130).contains(&told.len()), "{}", told.len());
    passkey.count = 6;
    enter(&service.app, &passkey).await.unwrap();
}

#[tokio::test]
async fn whoever_is_signed_in_confirms_by_an_own_passkey_alone() {
    let (service, ada, passkey) = with_passkey().await;
    let app = &service.app;
    let ben = app.create_user("ben@example.com", "Ben").await.unwrap();
    let link = app.create_reset_link(ben.id).await.unwrap().secret;
    let reset = app.reset_password(&link, Secret::from_text(PASSWORD), browser("192.0.2.3"));
    let ben = look_up(&service, &reset.await.unwrap()).await.unwrap();
    let of_ben = add(app, &ben).await;
    service.clock.advance(20 * MINUTE);
    let confirm = async |passkey: &Passkey| {
        let asked = app.ask_to_confirm(&ada).await.unwrap().unwrap();
        let answer = answer(&asked, passkey.sign(&asked.options));
        app.confirm_by_passkey(&ada, &answer, browser("192.0.2.1")).await
    };
    refused(confirm(&of_ben).await);
    let cookie = confirm(&passkey).await.unwrap();
    let found = app.look_up_cookie(app.presented_cookie(cookie.reveal()).unwrap()).await.unwrap();
    assert_eq!(found.session.id, ada.session.id);
    assert!(found.session.is_fresh(service.clock.now()));
    // A session that ended meanwhile stays ended.
    app.sign_out(person(&ada)).await.unwrap();
    let ended = confirm(&passkey).await;
    assert!(matches!(ended, Err(Error::InvalidToken)), "{ended:?}");
}

#[tokio::test]
async fn of_two_answers_with_one_count_at_once_one_is_good() {
    let (service, ada, mut passkey) = with_passkey().await;
    passkey.count = 7;
    let (secret, at) = stranger();
    let mut signed = Vec::new();
    for _ in 0..2 {
        let asked = service.app.ask_to_sign_in(&secret).await.unwrap().unwrap();
        signed.push(answer(&asked, passkey.sign(&asked.options)));
    }
    let enter = |number: usize| service.app.sign_in_by_passkey(&signed[number], &secret, at.clone());
    let (one, two) = tokio::join!(enter(0), enter(1));
    assert_ne!(one.is_ok(), two.is_ok(), "{one:?} {two:?}");
    assert_eq!(service.app.list_passkeys(ada.user.id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_new_passkey_is_made_by_a_verified_user_and_for_this_page_alone() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let asked = ask_to_add(app, &ada).await;
    let (mut passkey, _) = Passkey::make(&asked.options, ORIGIN);
    let add = async |passkey: &Passkey| {
        let credential = passkey.register(&asked.options);
        app.add_passkey(person(&ada), "Phone", &answer(&asked, credential)).await
    };
    passkey.is_verified = false;
    refused(add(&passkey).await);
    passkey.is_verified = true;
    let rp_id = std::mem::replace(&mut passkey.rp_id, "evil.example".into());
    refused(add(&passkey).await);
    passkey.rp_id = rp_id;
    let confirm = app.ask_to_confirm(&ada).await.unwrap().unwrap();
    let signed = answer(&asked, passkey.sign(&confirm.options));
    refused(app.add_passkey(person(&ada), "Phone", &signed).await);
    add(&passkey).await.unwrap();
    // A challenge of one session is invalid in another one of the same user.
    let other = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.9")).await;
    let other = look_up(&service, &other.unwrap()).await.unwrap();
    let confirm = app.ask_to_confirm(&ada).await.unwrap().unwrap();
    let signed = answer(&confirm, passkey.sign(&confirm.options));
    refused(app.confirm_by_passkey(&other, &signed, browser("192.0.2.9")).await);
    app.confirm_by_passkey(&ada, &signed, browser("192.0.2.1")).await.unwrap();
}

#[tokio::test]
async fn an_event_says_that_somebody_signed_in_by_a_passkey() {
    let (service, ada, passkey) = with_passkey().await;
    enter(&service.app, &passkey).await.unwrap();
    let told = service.app.list_own_events(ada.user.id, Part::default()).await.unwrap();
    let signed_in = told.iter().find(|it| it.action == Action::SignIn).unwrap();
    assert_eq!(signed_in.detail.as_deref(), Some("passkey"));
}


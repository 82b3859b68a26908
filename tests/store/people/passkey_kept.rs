//! The passkeys of a user: how many, until when, and which of them stays.

use std::time::Instant;

use invoicing::domain::Error;
use invoicing::domain::identity::Claims;
use invoicing::domain::passkey::ceremony::Asked;
use invoicing::domain::passkey::{PASSKEYS, RelyingParty};
use invoicing::domain::secret::Secret;
use invoicing::domain::ways_to_sign_in::{SwitchedOn, WaysToSignIn};
use test_support::passkey::{Passkey, p384_key, rsa_key};

use super::support::{EMAIL, PASSWORD, browser, look_up, person, sign_in};
use super::passkey::{actions, ORIGIN, add, another_at, answer, ask_to_add, enter, forget_password, refused, with_ada, with_passkey};

#[tokio::test]
async fn a_passkey_belongs_to_one_user_and_a_user_has_twenty_at_most() {
    let (service, ada, passkey) = with_passkey().await;
    let app = &service.app;
    let asked = ask_to_add(app, &ada).await;
    let again = answer(&asked, passkey.register(&asked.options));
    refused(app.add_passkey(person(&ada), "Again", &again).await);
    let other = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.9")).await;
    let other = look_up(&service, &other.unwrap()).await.unwrap();
    let elsewhere = answer(&asked, Passkey::make(&asked.options, ORIGIN).1);
    refused(app.add_passkey(person(&other), "Elsewhere", &elsewhere).await);
    for (name, origin) in [("", ORIGIN), ("Phone", "https://evil.example")] {
        let (_, credential) = Passkey::make(&asked.options, origin);
        let wrong = app.add_passkey(person(&ada), name, &answer(&asked, credential)).await;
        assert!(matches!(wrong, Err(Error::Invalid(_) | Error::PasskeyRefused)), "{wrong:?}");
    }
    // All at once, one more than there is room for.
    let mut answers = Vec::new();
    for _ in 0..PASSKEYS {
        let asked = ask_to_add(app, &ada).await;
        let (_, credential) = Passkey::make(&asked.options, ORIGIN);
        answers.push(answer(&asked, credential));
    }
    let adding = answers.iter().map(|it| app.add_passkey(person(&ada), "More", it));
    let added = futures::future::join_all(adding).await;
    let too_many = added.iter().filter(|it| matches!(it, Err(Error::Refused(_))));
    assert_eq!(too_many.count(), 1, "{added:?}");
    assert_eq!(app.list_passkeys(ada.user.id).await.unwrap().len(), PASSKEYS);
}

#[tokio::test]
async fn removing_a_passkey_ends_the_other_browser_sessions() {
    let (service, ada, passkey) = with_passkey().await;
    let app = &service.app;
    let other = enter(app, &passkey).await.unwrap();
    let id = app.list_passkeys(ada.user.id).await.unwrap()[0].id;
    let ben = app.create_user("ben@example.com", "Ben").await.unwrap();
    let link = app.create_reset_link(ben.id).await.unwrap().secret;
    let reset = app.reset_password(&link, Secret::from_text(PASSWORD), browser("192.0.2.3"));
    let ben = look_up(&service, &reset.await.unwrap()).await.unwrap();
    let not_his = app.remove_passkey(person(&ben), id).await;
    assert!(matches!(not_his, Err(Error::Missing { .. })), "{not_his:?}");
    app.remove_passkey(person(&ada), id).await.unwrap();
    assert!(look_up(&service, &other).await.is_err());
    refused(enter(app, &passkey).await);
    let again = app.remove_passkey(person(&ada), id).await;
    assert!(matches!(again, Err(Error::Missing { .. })), "{again:?}");
    let told = actions(&service, &ada).await;
    let told: Vec<_> = told.iter().map(|it| it.as_str()).filter(|it| it.ends_with("passkey")).collect();
    assert_eq!(told, ["remove-passkey", "add-passkey"]);
}

#[tokio::test]
async fn the_last_way_to_sign_in_stays() {
    let (service, ada, passkey) = with_passkey().await;
    let app = &service.app;
    add(app, &ada).await;
    forget_password(&service, ada.user.id).await;
    assert!(!app.ways_to_sign_in(ada.user.id).await.unwrap().password);
    let ids: Vec<_> = app.list_passkeys(ada.user.id).await.unwrap().iter().map(|it| it.id).collect();
    // Both at once: one comes second.
    let removing = ids.iter().map(|id| app.remove_passkey(person(&ada), *id));
    let removed = futures::future::join_all(removing).await;
    let kept = removed.iter().filter(|it| matches!(it, Err(Error::Refused(_))));
    assert_eq!(kept.count(), 1, "{removed:?}");
    let left = app.list_passkeys(ada.user.id).await.unwrap();
    assert_eq!(left.len(), 1);
    if left[0].credential_id == passkey.id {
        let cookies = enter(app, &passkey).await.unwrap();
        assert_eq!(cookies.device, None);
    }
}

#[tokio::test]
async fn of_a_passkey_and_an_identity_that_go_at_once_one_stays() {
    let (service, ada) = with_ada().await;
    let on = SwitchedOn {
        password: false,
        relying_party: RelyingParty::of(ORIGIN),
        issuer: Some("https://accounts.example.com".to_owned()),
    };
    let app = service.another().await.signing_in_by(on);
    add(&app, &ada).await;
    let claims = Claims {
        signed_in_at: None,
        issuer: "https://accounts.example.com".into(),
        subject: "ada".into(),
        email: None,
        email_verified: false,
        name: None,
    };
    app.link_identity(person(&ada), claims).await.unwrap();
    let ways = async || app.ways_to_sign_in(ada.user.id).await.unwrap();
    let before = WaysToSignIn {
        password: false,
        passkey: true,
        provider: true,
    };
    assert_eq!(ways().await, before);
    let passkey = app.list_passkeys(ada.user.id).await.unwrap()[0].id;
    let identity = app.list_identities(ada.user.id).await.unwrap()[0].id;
    let (one, two) = tokio::join!(
        app.remove_passkey(person(&ada), passkey),
        app.unlink_identity(person(&ada), identity)
    );
    assert_ne!(one.is_ok(), two.is_ok(), "{one:?} {two:?}");
    let refused = one.and(two).unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
    assert_ne!(ways().await.passkey, ways().await.provider);
}

#[tokio::test]
async fn a_passkey_of_another_host_does_not_count() {
    let (service, ada, passkey) = with_passkey().await;
    assert_eq!(service.app.count_passkeys_elsewhere().await.unwrap(), 0);
    let moved = another_at(&service, "https://new.example.com").await;
    assert_eq!(moved.count_passkeys_elsewhere().await.unwrap(), 1);
    refused(enter(&moved, &passkey).await);
    assert!(!moved.ways_to_sign_in(ada.user.id).await.unwrap().passkey);
    let named = async |name: &str| {
        let all = moved.list_passkeys(ada.user.id).await.unwrap();
        all.into_iter().find(|it| it.name == name).unwrap().id
    };
    let (asked, secret) = (ask_to_add(&moved, &ada).await, Secret::base64url());
    let (new, credential) = Passkey::make(&asked.options, "https://new.example.com");
    moved.add_passkey(person(&ada), "New", &answer(&asked, credential)).await.unwrap();
    enter(&moved, &new).await.unwrap();
    forget_password(&service, ada.user.id).await;
    let last = moved.remove_passkey(person(&ada), named("New").await).await;
    assert!(matches!(last, Err(Error::Refused(_))), "{last:?}");
    let old = named("Phone").await;
    moved.remove_passkey(person(&ada), old).await.unwrap();
    // At an origin where no passkey works, none of them needs to stay.
    let elsewhere = another_at(&service, "https://elsewhere.example.com").await;
    elsewhere.remove_passkey(person(&ada), named("New").await).await.unwrap();
    moved.add_passkey(person(&ada), "Again", &{
        let asked = ask_to_add(&moved, &ada).await;
        let (_, credential) = Passkey::make(&asked.options, "https://new.example.com");
        answer(&asked, credential)
    })
    .await
    .unwrap();

    let at_an_address = another_at(&service, "http://127.0.0.1:8080").await;
    assert_eq!(at_an_address.ask_to_sign_in(&secret).await.unwrap(), None);
    assert_eq!(at_an_address.ask_to_add(&ada).await.unwrap(), None);
    assert_eq!(at_an_address.count_passkeys_elsewhere().await.unwrap(), 1);
}

#[tokio::test]
async fn passkeys_go_with_their_user_and_stay_after_a_reset() {
    let (service, ada, passkey) = with_passkey().await;
    let app = &service.app;
    let link = app.create_reset_link(ada.user.id).await.unwrap().secret;
    let reset = app.reset_password(&link, Secret::from_text(PASSWORD), browser("192.0.2.3"));
    reset.await.unwrap();
    enter(app, &passkey).await.unwrap();
    app.delete_user(ada.user.id).await.unwrap();
    refused(enter(app, &passkey).await);
    assert!(app.list_passkeys(ada.user.id).await.unwrap().is_empty());
}

/// A page that is tried out on the machine itself.
#[tokio::test]
async fn a_passkey_of_a_page_at_a_port_is_good() {
    let (service, ada) = with_ada().await;
    let origin = "http://localhost:8080";
    let app = another_at(&service, origin).await;
    let asked = ask_to_add(&app, &ada).await;
    let (passkey, credential) = Passkey::make(&asked.options, origin);
    app.add_passkey(person(&ada), "Phone", &answer(&asked, credential)).await.unwrap();
    enter(&app, &passkey).await.unwrap();
}

#[tokio::test]
async fn a_browser_learns_which_passkeys_there_are_and_how_each_is_reached() {
    let (service, ada, passkey) = with_passkey().await;
    let options = ask_to_add(&service.app, &ada).await.options;
    let options: serde_json::Value = serde_json::from_str(&options).unwrap();
    let known = options["publicKey"]["excludeCredentials"].as_array();
    let known = known.or(options["excludeCredentials"].as_array()).unwrap();
    assert_eq!(known.len(), 1);
    assert_eq!(known[0]["transports"], serde_json::json!(["internal"]));
    assert!(!passkey.id.is_empty());
}

/// Password managers add data that was not asked for.
#[tokio::test]
async fn what_a_browser_or_a_device_adds_to_its_answer_harms_nobody() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let asked = ask_to_add(app, &ada).await;
    let (mut passkey, _) = Passkey::make(&asked.options, ORIGIN);
    passkey.tells_secret = true;
    let (none, more) = (
        r#"Results":{}"#,
        r#"Results":{"credProps":{"rk":true},"prf":{"enabled":true}}"#,
    );
    let credential = passkey.register(&asked.options);
    assert!(credential.contains(none));
    let made = answer(&asked, credential.replace(none, more));
    app.add_passkey(person(&ada), "Phone", &made).await.unwrap();
    enter(app, &passkey).await.unwrap();
}

#[tokio::test]
async fn no_other_answer_or_key_is_read_than_browsers_have() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let asked = ask_to_add(app, &ada).await;
    let (passkey, _) = Passkey::make(&asked.options, ORIGIN);
    let add = async |asked: &Asked, credential: String| {
        app.add_passkey(person(&ada), "Phone", &answer(asked, credential)).await
    };
    // A modulus of 4096 bits has 512 bytes.
    for key in [rsa_key(1024, 65_537), rsa_key(513, 65_537), rsa_key(256, u32::MAX), p384_key()] {
        refused(add(&asked, passkey.register_key(&asked.options, &key)).await);
    }
    let longest = passkey.register_key(&asked.options, &rsa_key(512, 65_537));
    let padded = |length: usize| format!("{longest:length$}");
    refused(add(&asked, padded(32 * 1024 + 1)).await);
    add(&asked, padded(32 * 1024)).await.unwrap();
}

/// With the longest key that the library reads, a signature takes twenty times as long as with the longest that is accepted.
#[tokio::test]
async fn a_key_that_is_too_long_is_refused_before_its_signature_is_checked() {
    let (service, ada) = with_ada().await;
    let asked = ask_to_add(&service.app, &ada).await;
    let (passkey, _) = Passkey::make(&asked.options, ORIGIN);
    let time = async |modulus| {
        let credential = passkey.register_attested_rsa(&asked.options, modulus);
        let begun = Instant::now();
        for _ in 0..20 {
            let answer = answer(&asked, credential.clone());
            refused(service.app.add_passkey(person(&ada), "Phone", &answer).await);
        }
        begun.elapsed()
    };
    let (longest, too_long) = (time(512).await, time(2048).await);
    assert!(too_long < longest, "{too_long:?}, {longest:?}");
}

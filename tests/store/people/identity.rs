//! Identities at an OpenID provider: to which user they belong, and that the last way to sign in
//! stays.

use std::sync::Arc;
use std::time::Duration;

use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::authentication_request::Purpose;
use invoicing::domain::browser_session::InBrowser;
use invoicing::domain::identity::Claims;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::secret::Secret;
use invoicing::domain::ways_to_sign_in::{SwitchedOn, WaysToSignIn};

use super::super::signed_in::assert_no_link;
use super::super::support::{START, Service};
use super::support::{browser, person, with_ada};

const ISSUER: &str = "https://accounts.example.com";

/// The service with the issuer's identities enabled, and passwords enabled or not.
async fn switched_on(service: &Service, password: bool) -> Arc<App> {
    let app = App::new(service.store.clone(), service.clock.clone(), "https://links.example").await;
    let issuer = Some(ISSUER.to_owned());
    Arc::new(app.unwrap().signing_in_by(SwitchedOn {
        password,
        relying_party: None,
        issuer,
    }))
}

fn claims(subject: &str, email: Option<&str>) -> Claims {
    Claims {
        signed_in_at: None,
        issuer: ISSUER.into(),
        subject: subject.into(),
        email: email.map(str::to_owned),
        email_verified: email.is_some(),
        name: None,
    }
}

async fn look_up(app: &App, cookie: &Secret) -> Result<InBrowser, Error> {
    app.look_up_cookie(app.presented_cookie(cookie.reveal())?).await
}

/// A user created with the command line who has signed in with the identity `subject`.
async fn signed_in(app: &App, subject: &str) -> InBrowser {
    let email = format!("{subject}@example.com");
    app.create_user(&email, subject).await.unwrap();
    let signed_in = app.sign_in_by_provider(claims(subject, Some(&email)), browser("192.0.2.1"));
    let (user_id, cookie) = signed_in.await.unwrap();
    let in_browser = look_up(app, &cookie).await.unwrap();
    assert_eq!(user_id, in_browser.user.id);
    in_browser
}

#[tokio::test]
async fn of_two_ways_that_are_unlinked_at_once_one_stays() {
    let service = Service::new().await;
    let app = switched_on(&service, true).await;
    for round in 0..8 {
        let ben = signed_in(&app, &format!("ben-{round}")).await;
        let other = claims(&format!("other-{round}"), None);
        app.link_identity(person(&ben), other).await.unwrap();
        let identities = app.list_identities(ben.user.id).await.unwrap();
        let unlink = |at: usize| {
            let (app, ben, id) = (Arc::clone(&app), person(&ben), identities[at].id);
            tokio::spawn(async move { app.unlink_identity(ben, id).await })
        };
        let (one, two) = tokio::join!(unlink(0), unlink(1));
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_ne!(one.is_ok(), two.is_ok(), "{one:?} {two:?}");
        let refused = one.and(two).unwrap_err();
        assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
        let left = app.list_identities(ben.user.id).await.unwrap();
        assert_eq!(left.len(), 1);
    }
}

#[tokio::test]
async fn only_ways_that_are_switched_on_count() {
    let (service, ada) = with_ada().await;
    let (on, off) = (switched_on(&service, true).await, switched_on(&service, false).await);
    let elsewhere = Claims {
        signed_in_at: None,
        issuer: "https://elsewhere.example".into(),
        ..claims("1", None)
    };
    on.link_identity(person(&ada), elsewhere).await.unwrap();
    on.link_identity(person(&ada), claims("1", None)).await.unwrap();
    let ways = async |app: &App| app.ways_to_sign_in(ada.user.id).await.unwrap();
    let both = WaysToSignIn {
        password: true,
        passkey: false,
        provider: true,
    };
    assert_eq!(ways(&on).await, both);
    let provider = WaysToSignIn {
        password: false,
        ..both
    };
    assert_eq!(ways(&off).await, provider);
    let identities = off.list_identities(ada.user.id).await.unwrap();
    let unlink = async |app: &App, at: usize| app.unlink_identity(person(&ada), identities[at].id).await;
    let refused = unlink(&off, 1).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    unlink(&off, 0).await.unwrap();
    unlink(&on, 1).await.unwrap();
    let gone = unlink(&on, 1).await;
    assert!(matches!(gone, Err(Error::Missing { .. })), "{gone:?}");
}

#[tokio::test]
async fn of_two_users_who_link_an_identity_at_once_one_has_it() {
    let service = Service::new().await;
    let app = switched_on(&service, true).await;
    let (ada, ben) = (signed_in(&app, "ada").await, signed_in(&app, "ben").await);
    let link = |who: &InBrowser| {
        let (app, who) = (Arc::clone(&app), person(who));
        tokio::spawn(async move { app.link_identity(who, claims("both", None)).await })
    };
    let (one, two) = tokio::join!(link(&ada), link(&ben));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_ne!(one.is_ok(), two.is_ok(), "{one:?} {two:?}");
    let refused = one.and(two).unwrap_err();
    assert!(matches!(refused, Error::IdentityTaken), "{refused:?}");
}

/// A take-over: of two identities that prove the same email, one becomes the user's.
#[tokio::test]
async fn of_two_identities_that_find_a_user_by_email_at_once_one_signs_in() {
    let service = Service::new().await;
    let app = switched_on(&service, true).await;
    let email = "ada@example.com";
    let ada = app.create_user(email, "Ada").await.unwrap();
    let sign_in = |subject: &'static str| {
        let app = Arc::clone(&app);
        let claims = claims(subject, Some("ADA@example.com"));
        tokio::spawn(async move { app.sign_in_by_provider(claims, browser("192.0.2.1")).await })
    };
    let (one, two) = tokio::join!(sign_in("1"), sign_in("2"));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_ne!(one.is_ok(), two.is_ok());
    assert_eq!(app.list_identities(ada.id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn who_first_signs_in_in_several_browsers_at_once_is_signed_in_in_each() {
    let service = Service::new().await;
    let app = switched_on(&service, true).await;
    for round in 0..30 {
        let email = format!("ada-{round}@example.com");
        app.create_user(&email, "Ada").await.unwrap();
        let browsers = (0..6).map(|number| {
            let app = Arc::clone(&app);
            let claims = claims(&round.to_string(), Some(&email));
            tokio::spawn(async move {
                let browser = browser(&format!("192.0.2.{number}"));
                app.sign_in_by_provider(claims, browser).await
            })
        });
        for browser in browsers.collect::<Vec<_>>() {
            browser.await.unwrap().unwrap();
        }
    }
}

#[tokio::test]
async fn a_user_has_ten_identities_at_most() {
    let (service, ada) = with_ada().await;
    let app = switched_on(&service, true).await;
    for number in 0..10 {
        let claims = claims(&number.to_string(), None);
        app.link_identity(person(&ada), claims).await.unwrap();
    }
    let refused = app.link_identity(person(&ada), claims("10", None)).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    // One that is already linked is not another one.
    app.link_identity(person(&ada), claims("9", None)).await.unwrap();
}

#[tokio::test]
async fn who_signed_out_meanwhile_links_unlinks_and_confirms_nothing() {
    let service = Service::new().await;
    let app = switched_on(&service, true).await;
    let ada = signed_in(&app, "ada").await;
    let id = app.list_identities(ada.user.id).await.unwrap()[0].id;
    app.sign_out(person(&ada)).await.unwrap();
    let refused = [
        app.link_identity(person(&ada), claims("2", None)).await,
        app.unlink_identity(person(&ada), id).await,
        app.confirm_by_provider(&ada, claims("ada", None)).await.map(drop),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
    }
}

#[tokio::test]
async fn what_is_done_to_identities_is_told_with_how_somebody_signed_in() {
    let service = Service::new().await;
    let app = switched_on(&service, true).await;
    let ada = signed_in(&app, "ada").await;
    app.link_identity(person(&ada), claims("2", None)).await.unwrap();
    let identities = app.list_identities(ada.user.id).await.unwrap();
    app.unlink_identity(person(&ada), identities[1].id).await.unwrap();
    let told = app.list_own_events(ada.user.id, Part::default()).await.unwrap();
    let told: Vec<_> = told
        .iter()
        .map(|it| (it.action, it.subject, it.detail.as_deref()))
        .collect();
    let of = |at: usize| Some(identities[at].id.0);
    let session = Some(ada.session.id.0);
    assert_eq!(
        told,
        [
            (Action::UnlinkIdentity, of(1), None),
            (Action::LinkIdentity, of(1), None),
            (Action::LinkIdentity, of(0), None),
            (Action::SignIn, session, Some("provider")),
        ]
    );
}

#[tokio::test]
async fn a_way_to_the_provider_is_good_for_ten_minutes_on_every_replica() {
    let service = Service::new().await;
    let (one, two) = (switched_on(&service, true).await, switched_on(&service, true).await);
    let (request, cookie) = one.begin_authentication(Purpose::SignIn, "/").await.unwrap();
    service.clock.advance(Duration::from_secs(599));
    let found = two.find_authentication(cookie.reveal()).await.unwrap();
    assert!(found == Some(request));
    service.clock.advance(Duration::from_secs(1));
    let late = two.find_authentication(cookie.reveal()).await.unwrap();
    assert!(late.is_none());
}

#[tokio::test]
async fn who_is_invited_joins_by_an_account_there_that_proves_the_email() {
    let service = Service::new().await;
    let app = switched_on(&service, true).await;
    let team = service.team().await;
    let invite = async |email: &str| {
        let invited = app.invite(&Actor::Operator, team, email, Role::Viewer).await;
        invited.unwrap().secret
    };
    let join = async |link: &Secret, claims| {
        let (user_id, cookie) = app.join_by_provider(link, claims, browser("192.0.2.1")).await?;
        let in_browser = look_up(&app, &cookie).await?;
        assert_eq!(user_id, in_browser.user.id);
        Ok(in_browser)
    };
    let bo = invite("bo@example.com").await;
    let unproven = Claims { email_verified: false, ..claims("1", Some("bo@example.com")) };
    for other in [unproven, claims("1", None), claims("1", Some("ada@example.com"))] {
        let refused = join(&bo, other).await.map(drop);
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    }
    let named = Claims { name: Some("Bo Bones".into()), ..claims("1", Some("Bo@example.com")) };
    let joined = join(&bo, named.clone()).await.unwrap().user;
    assert_eq!((&*joined.name, &*joined.email), ("Bo Bones", "bo@example.com"));
    assert_eq!(app.list_identities(joined.id).await.unwrap()[0].subject, "1");
    assert_no_link(join(&bo, named).await.map(drop));

    // Without a name from the provider, the user is named after the start of the email.
    let carl = invite("carl@example.com").await;
    let joined = join(&carl, claims("2", Some("carl@example.com"))).await.unwrap().user;
    assert_eq!(joined.name, "carl");
}

/// V11.
#[tokio::test]
async fn who_signs_in_by_the_provider_has_proven_it_when_the_provider_says() {
    let service = Service::new().await;
    let app = switched_on(&service, true).await;
    let ada = signed_in(&app, "ada").await.user;
    for ago in [60, 600].map(Duration::from_secs) {
        let at = START.before(ago);
        let claims = Claims { signed_in_at: Some(at), ..claims("ada", Some(&ada.email)) };
        let signed_in = app.sign_in_by_provider(claims, browser("192.0.2.1")).await;
        let session = look_up(&app, &signed_in.unwrap().1).await.unwrap().session;
        assert_eq!((session.created_at, session.signed_in_at), (START, at));
    }
}

//! One-time links, and the limits on wrong passwords.

use std::time::Duration;

use invoicing::app::sign_in::SignIn;
use invoicing::domain::Error;
use invoicing::domain::audit::Actor;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::secret::Secret;
use invoicing::domain::ways_to_sign_in::SwitchedOn;

use super::super::support::Service;
use super::support::{EMAIL, PASSWORD, browser, look_up, person, set_up, sign_in, with_ada};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

#[tokio::test]
async fn a_link_to_set_up_is_good_for_a_day() {
    let service = Service::new().await;
    let link = service.app.create_set_up_link().await.unwrap();
    service.clock.advance(DAY - MINUTE);
    assert!(service.app.get_set_up_link(&link.secret).await.unwrap());
    service.clock.advance(MINUTE);
    let late = set_up(&service, &link.secret).await;
    assert!(matches!(late, Err(Error::LinkNotValid)), "{late:?}");
    service.app.delete_expired().await.unwrap();
}

#[tokio::test]
async fn set_up_ends_an_invitation_of_the_first_owner() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let invited = app.invite(&Actor::Operator, team, EMAIL, Role::Viewer).await;
    let invitation = invited.unwrap().secret;
    let link = app.create_set_up_link().await.unwrap().secret;
    let cookies = set_up(&service, &link).await.unwrap();
    let ada = look_up(&service, &cookies).await.unwrap().user;
    assert_eq!(app.membership(team, ada.id).await.unwrap(), Role::Owner);
    let found = app.get_invitation(&invitation).await;
    assert!(matches!(found, Err(Error::LinkNotValid)), "{found:?}");
}

#[tokio::test]
async fn a_link_of_a_reset_is_good_for_an_hour_once_and_ends_everything() {
    let (service, ada) = with_ada().await;
    let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
    let cookies = cookies.unwrap();
    let create = || service.app.create_reset_link(ada.user.id);
    let replaced = create().await.unwrap().secret;
    let link = create().await.unwrap().secret;
    let reset = async |link: &Secret, password: &str| {
        let password = Secret::from_text(password);
        let browser = browser("192.0.2.3");
        service.app.reset_password(link, password, browser).await
    };
    let new = "another harbour tulip nine";
    assert!(matches!(reset(&replaced, new).await, Err(Error::LinkNotValid)));
    assert!(matches!(reset(&link, "short").await, Err(Error::Invalid(_))));
    let reset_in = reset(&link, new).await.unwrap();
    assert!(look_up(&service, &cookies).await.is_err());
    assert!(look_up(&service, &reset_in).await.is_ok());
    assert!(matches!(reset(&link, new).await, Err(Error::LinkNotValid)));
    let old = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.4")).await;
    assert!(matches!(old, Err(Error::WrongPassword)), "{old:?}");

    let link = create().await.unwrap().secret;
    service.clock.advance(HOUR);
    assert!(matches!(reset(&link, new).await, Err(Error::LinkNotValid)));
}

#[tokio::test]
async fn a_source_waits_a_quarter_of_an_hour_and_an_account_a_day() {
    let (service, _) = with_ada().await;
    let wrong = async |address: &str| sign_in(&service, EMAIL, "wrong", browser(address)).await;
    for _ in 0..10 {
        let refused = wrong("192.0.2.9").await;
        assert!(matches!(refused, Err(Error::WrongPassword)), "{refused:?}");
    }
    let held = wrong("192.0.2.9").await;
    assert!(matches!(held, Err(Error::TooManyWrongPasswords(_))), "{held:?}");
    service.clock.advance(15 * MINUTE);
    let refused = wrong("192.0.2.9").await;
    assert!(matches!(refused, Err(Error::WrongPassword)), "{refused:?}");
    // Ten from each address, and there have been eleven.
    for address in 10..19 {
        for attempt in 0..10 {
            let refused = wrong(&format!("192.0.2.{address}")).await;
            let is_last = address == 18 && attempt == 9;
            match refused {
                Err(Error::TooManyWrongPasswords(_)) => assert!(is_last, "{address} {attempt}"),
                Err(Error::WrongPassword) => assert!(!is_last, "{address} {attempt}"),
                other => panic!("{other:?}"),
            }
        }
    }
    let right = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.30")).await;
    assert!(matches!(right, Err(Error::TooManyWrongPasswords(_))), "{right:?}");
    service.clock.advance(DAY);
    service.app.delete_expired().await.unwrap();
    sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.30"))
        .await
        .unwrap();
}

#[tokio::test]
async fn of_many_wrong_passwords_at_once_ten_are_compared() {
    let (service, _) = with_ada().await;
    let wrong = || sign_in(&service, EMAIL, "wrong", browser("192.0.2.9"));
    let refused = futures::future::join_all((0..30).map(|_| wrong())).await;
    let compared = refused.iter().filter(|it| matches!(it, Err(Error::WrongPassword)));
    assert_eq!(compared.count(), 10);
}

#[tokio::test]
async fn a_browser_that_has_signed_in_before_counts_by_itself_for_its_user_alone() {
    let (service, _) = with_ada().await;
    service.app.create_user("ben@example.com", "Ben").await.unwrap();
    let known = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.9")).await;
    let known = known.unwrap();
    let with_cookie = || {
        let mut browser = browser("192.0.2.9");
        browser.device = known.device.clone();
        browser
    };
    for email in [EMAIL, "ben@example.com"] {
        for _ in 0..11 {
            _ = sign_in(&service, email, "wrong", browser("192.0.2.9")).await;
        }
    }
    let ben = sign_in(&service, "ben@example.com", "wrong", with_cookie()).await;
    assert!(matches!(ben, Err(Error::TooManyWrongPasswords(_))), "{ben:?}");
    sign_in(&service, EMAIL, PASSWORD, with_cookie()).await.unwrap();
    for _ in 0..10 {
        _ = sign_in(&service, EMAIL, "wrong", with_cookie()).await;
    }
    let held = sign_in(&service, EMAIL, PASSWORD, with_cookie()).await;
    assert!(matches!(held, Err(Error::TooManyWrongPasswords(_))), "{held:?}");
}

/// P32: the right password removes the counts that it has caused, and nothing else.
#[tokio::test]
async fn the_right_password_leaves_the_counts_of_wrong_ones_as_they_are() {
    let (service, _) = with_ada().await;
    for address in ["192.0.2.7", "192.0.2.8", "192.0.2.9"] {
        sign_in(&service, EMAIL, "wrong", browser(address)).await.unwrap_err();
    }
    let mut browser = browser("192.0.2.2");
    for _ in 0..2 {
        let cookies = sign_in(&service, EMAIL, PASSWORD, browser.clone()).await.unwrap();
        let counts = [1, 3].map(|it| format!("wrong_password WHERE count = {it}"));
        assert_eq!(counts.map(|it| service.database().rows(&it)), [3, 1]);
        // The second time, the browser is known.
        browser.device = cookies.device;
    }
}

#[tokio::test]
async fn a_password_that_is_changed_while_it_is_compared_signs_nobody_in() {
    let (service, ada) = with_ada().await;
    let change = async || {
        // The attempt is counted first, and the hash to compare with is read before that.
        while service.database().rows("wrong_password") == 0 {
            tokio::task::yield_now().await;
        }
        service.database().change("UPDATE password SET hash = 'another'");
    };
    let (signed_in, ()) = tokio::join!(
        sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")),
        change()
    );
    assert!(matches!(signed_in, Err(Error::WrongPassword)), "{signed_in:?}");
    let (browsers, _) = service.app.list_devices(ada.user.id, Part::default(), Part::default()).await.unwrap();
    assert_eq!(browsers.len(), 1);
}

#[tokio::test]
async fn where_passwords_are_switched_off_none_is_taken_and_none_is_set() {
    let (service, ada) = with_ada().await;
    let link = service.app.create_reset_link(ada.user.id).await.unwrap().secret;
    let off = SwitchedOn { password: false, ..service.app.switched_on().clone() };
    let app = service.another().await.signing_in_by(off);
    assert!(!app.switched_on().password);
    let password = || Secret::from_text(PASSWORD);
    let browser = || browser("192.0.2.1");
    let attempt = SignIn { email: EMAIL.into(), password: password(), browser: browser() };
    for refused in [
        app.sign_in(attempt).await.map(drop),
        app.confirm_by_password(&ada, password(), browser()).await.map(drop),
        app.create_reset_link(ada.user.id).await.map(drop),
        app.reset_password(&link, password(), browser()).await.map(drop),
        app.change_password(person(&ada), &ada, password()).await.map(drop),
    ] {
        assert!(matches!(refused, Err(Error::PasswordsOff)), "{refused:?}");
    }
}

#[tokio::test]
async fn a_user_without_a_password_is_answered_like_one_who_is_not_there() {
    let (service, _) = with_ada().await;
    service.app.create_user("ben@example.com", "Ben").await.unwrap();
    for email in ["ben@example.com", "nobody@example.com"] {
        let refused = sign_in(&service, email, "", browser("192.0.2.9")).await;
        assert!(matches!(refused, Err(Error::WrongPassword)), "{refused:?}");
    }
}

#[tokio::test]
async fn a_device_cookie_ends_with_the_password_that_it_was_given_for() {
    let (service, ada) = with_ada().await;
    let known = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.9")).await;
    let known = known.unwrap();
    for _ in 0..10 {
        _ = sign_in(&service, EMAIL, "wrong", browser("192.0.2.9")).await;
    }
    let link = service.app.create_reset_link(ada.user.id).await.unwrap();
    let new = "another harbour tulip nine";
    let password = Secret::from_text(new);
    let reset = service
        .app
        .reset_password(&link.secret, password, browser("192.0.2.8"));
    let reset = reset.await.unwrap();
    for (device, counts_by_itself) in [(known.device, false), (reset.device, true)] {
        let mut browser = browser("192.0.2.9");
        browser.device = device;
        let signed_in = sign_in(&service, EMAIL, new, browser).await;
        assert_eq!(signed_in.is_ok(), counts_by_itself, "{signed_in:?}");
    }
}

/// P15.
#[tokio::test]
async fn a_password_that_is_changed_ends_the_links_by_which_another_could_be_set() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let link = app.create_reset_link(ada.user.id).await.unwrap().secret;
    app.get_reset_link(&link).await.unwrap();
    let new = Secret::from_text("another harbour tulip nine");
    app.change_password(person(&ada), &ada, new).await.unwrap();
    let found = app.get_reset_link(&link).await;
    assert!(matches!(found, Err(Error::LinkNotValid)), "{found:?}");
}

#[tokio::test]
async fn sign_ins_are_counted_by_their_way() {
    let (service, ada) = with_ada().await;
    let counts = service.app.counts();
    let links = counts.link.good.get();
    let right = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
    assert!(right.is_ok());
    let wrong = sign_in(&service, EMAIL, "wrong", browser("192.0.2.2")).await;
    assert!(wrong.is_err());
    assert_eq!((counts.password.good.get(), counts.password.refused.get()), (1, 1));
    let link = service.app.create_reset_link(ada.user.id).await.unwrap().secret;
    let reset = async || {
        let new = Secret::from_text("another harbour tulip nine");
        service.app.reset_password(&link, new, browser("192.0.2.3")).await
    };
    assert!(reset().await.is_ok());
    assert!(reset().await.is_err());
    assert_eq!((counts.link.good.get(), counts.link.refused.get()), (links + 1, 1));
}

#[tokio::test]
async fn a_link_to_set_up_makes_a_team_where_there_is_none_and_is_over_with_the_first_user() {
    let service = Service::new().await;
    let app = &service.app;
    let link = app.create_set_up_link().await.unwrap().secret;
    let unknown = app.get_set_up_link(&Secret::base64url()).await;
    assert!(matches!(unknown, Err(Error::LinkNotValid)), "{unknown:?}");
    assert!(app.get_set_up_link(&link).await.unwrap());
    service.team().await;
    assert!(!app.get_set_up_link(&link).await.unwrap());
    let ada = app.create_user(EMAIL, "Ada").await.unwrap();
    let over = app.get_set_up_link(&link).await;
    assert!(matches!(over, Err(Error::LinkNotValid)), "{over:?}");
    let more = app.create_set_up_link().await;
    assert!(matches!(more, Err(Error::Refused(_))), "{more:?}");
    app.delete_user(ada.id).await.unwrap();
    let over = app.get_set_up_link(&link).await;
    assert!(matches!(over, Err(Error::LinkNotValid)), "{over:?}");
    assert!(app.create_set_up_link().await.is_ok());
}

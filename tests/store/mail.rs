//! Letters, and changes of emails. The ids at the tests are from docs/decisions.md.

use std::sync::Arc;
use std::time::Duration;

use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::audit::{Action, Actor, Person};
use invoicing::domain::id::TeamId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::secret::Secret;
use test_support::mail::{Mail, MailServer, Manner};

use super::signed_in::{PASSWORD, actor, assert_no_link, browser, join};
use super::support::{ORIGIN, Service, mailing, STRANGER};

const HOUR: Duration = Duration::from_secs(60 * 60);
const ADA: &str = "ada@example.com";
const NEW: &str = "ada@example.org";

/// The secret of the link in the letter.
pub fn secret(mail: &Mail) -> Secret {
    let link = mail.link(ORIGIN).unwrap_or_else(|| panic!("{}", mail.text()));
    Secret::from_text(link.rsplit('/').next().unwrap())
}

/// A service that sends mail, with Ada in a team.
async fn with_ada() -> (Service, MailServer, TeamId, Person) {
    let (service, mail) = Service::mailing().await;
    let team = service.team().await;
    let ada = join(&service.app, team, ADA, Role::Owner).await;
    (service, mail, team, ada)
}

async fn email(app: &App, person: &Person) -> String {
    app.get_user(person.user_id.into()).await.unwrap().email
}

fn assert_too_many<T: std::fmt::Debug>(result: Result<T, Error>) {
    let Err(Error::Invalid(complaint)) = result else {
        panic!("{result:?}");
    };
    assert!(complaint.message.contains("one mail too many"), "{complaint}");
}

/// P13: whichever replica gets the request.
#[tokio::test]
async fn three_resets_are_mailed_an_hour_by_all_replicas_together() {
    let (service, mail, _, ada) = with_ada().await;
    let other = Arc::new(mailing(service.another().await, &mail));
    let apps = [&service.app, &other, &service.app];
    let mut last = None;
    for app in apps {
        app.ask_for_reset("Ada@Example.com", STRANGER).unwrap();
        let letter = mail.next().await;
        assert_eq!(letter.to, [ADA]);
        last = Some(secret(&letter));
    }
    let last = last.unwrap();
    assert!(!service.database().keeps(last.reveal().as_bytes()));
    // A fourth leaves the link as it is.
    other.ask_for_reset(ADA, STRANGER).unwrap();
    other.finish_mail().await;
    assert_eq!(mail.waiting().await, None);
    service.app.get_reset_link(&last).await.unwrap();

    service.clock.advance(HOUR - Duration::from_millis(1));
    service.app.ask_for_reset(ADA, STRANGER).unwrap();
    join(&service.app, service.team().await, "ben@example.com", Role::Owner).await;
    service.app.ask_for_reset("ben@example.com", STRANGER).unwrap();
    assert_eq!(mail.next().await.to, ["ben@example.com"]);
    service.clock.advance(Duration::from_millis(1));
    service.app.ask_for_reset(ADA, STRANGER).unwrap();
    let link = secret(&mail.next().await);
    assert_no_link(service.app.get_reset_link(&last).await);
    let reset = service.app.reset_password(&link, Secret::from_text(PASSWORD), browser());
    reset.await.unwrap();
    assert_eq!(email(&service.app, &ada).await, ADA);
}

/// P13: letters that a server has yet to send when it stops.
#[tokio::test]
async fn a_reset_that_was_asked_for_is_mailed_before_a_server_ends() {
    let (service, mail, ..) = with_ada().await;
    service.app.ask_for_reset(ADA, STRANGER).unwrap();
    service.app.finish_mail().await;
    assert_eq!(mail.waiting().await.unwrap().to, [ADA]);
}

/// P13: a person may have all addresses of a site.
#[tokio::test]
async fn whoever_asks_for_resets_all_the_time_keeps_nobody_of_another_site_from_it() {
    let (service, mail, ..) = with_ada().await;
    let ask = |last| service.app.ask_for_reset("nobody@example.com", [198, 51, 100, last].into());
    let asked = (0..=255).take_while(|last| ask(*last).is_ok());
    assert_eq!(asked.count(), 200);
    service.app.ask_for_reset(ADA, STRANGER).unwrap();
    assert_eq!(mail.next().await.to, [ADA]);
}

/// P13: nothing is stored about an email that a stranger enters.
#[tokio::test]
async fn a_reset_for_nobody_leaves_nothing_behind() {
    let (service, mail, ..) = with_ada().await;
    service.app.ask_for_reset("nobody@example.com", STRANGER).unwrap();
    service.app.ask_for_reset("ada", STRANGER).unwrap_err();
    service.app.finish_mail().await;
    assert_eq!(mail.waiting().await, None);
    for table in ["mail_count", "one_time_link"] {
        assert_eq!(service.database().rows(table), 0, "{table}");
    }
}

/// P7.
#[tokio::test]
async fn a_team_mails_a_hundred_invitations_an_hour() {
    let (service, mail, team, ada) = with_ada().await;
    let invite = async |number: usize| {
        let email = format!("bo{}@example.com", number % 20);
        let invited = service.app.invite_by_mail(ada.clone(), team, &email, Role::Viewer);
        invited.await
    };
    for number in 0..100 {
        invite(number).await.unwrap();
        mail.next().await;
    }
    assert_too_many(invite(100).await);
    // Another team may, and so may the operator.
    let other = service.team().await;
    let ben = join(&service.app, other, "ben@example.com", Role::Owner).await;
    let invited = service.app.invite_by_mail(ben, other, "bo@example.com", Role::Viewer);
    invited.await.unwrap();
    let shown = service.app.invite(&Actor::Operator, team, "bo0@example.com", Role::Viewer);
    shown.await.unwrap();
    service.clock.advance(HOUR);
    invite(101).await.unwrap();
}

/// P7: the owner of the address has not asked for them.
#[tokio::test]
async fn a_team_mails_ten_invitations_an_hour_to_one_address() {
    let (service, mail, team, ada) = with_ada().await;
    let invite = async |email: &str| {
        let invited = service.app.invite_by_mail(ada.clone(), team, email, Role::Viewer);
        invited.await
    };
    for number in 0..10 {
        invite(["bo@example.com", "Bo@Example.com"][number % 2]).await.unwrap();
        mail.next().await;
    }
    assert_too_many(invite("BO@example.com").await);
    invite("cy@example.com").await.unwrap();
    let other = service.team().await;
    let ben = join(&service.app, other, "ben@example.com", Role::Owner).await;
    let invited = service.app.invite_by_mail(ben, other, "bo@example.com", Role::Viewer);
    invited.await.unwrap();
    service.clock.advance(HOUR);
    invite("bo@example.com").await.unwrap();
}

/// P15: it could be a thief's.
#[tokio::test]
async fn a_reset_ends_a_change_of_the_email_that_waits() {
    let (service, mail, _, ada) = with_ada().await;
    let app = &service.app;
    app.ask_for_email_change(ada.clone(), NEW).await.unwrap();
    let change = secret(&mail.next().await);
    app.get_email_change(ada.user_id, &change).await.unwrap();
    let reset = app.create_reset_link(ada.user_id).await.unwrap().secret;
    let reset = app.reset_password(&reset, Secret::from_text(PASSWORD), browser());
    reset.await.unwrap();
    assert_no_link(app.get_email_change(ada.user_id, &change).await);
}

/// P17, T1.
#[tokio::test]
async fn an_email_counts_once_its_link_is_followed_within_an_hour() {
    let (service, mail, _, ada) = with_ada().await;
    let app = &service.app;
    let ask = async |email: &str| {
        app.ask_for_email_change(ada.clone(), email).await.unwrap();
        secret(&mail.next().await)
    };
    let first = ask("ada@example.net").await;
    let link = ask(NEW).await;
    assert!(!service.database().keeps(link.reveal().as_bytes()));
    assert_no_link(app.change_email(ada.clone(), &first).await);
    service.clock.advance(HOUR - Duration::from_millis(1));
    let found = app.get_email_change(ada.user_id, &link).await.unwrap();
    assert_eq!(found.email, NEW);
    let ben = join(app, service.team().await, "ben@example.com", Role::Owner).await;
    assert_no_link(app.change_email(ben, &link).await);
    let other = service.team().await;
    app.invite(&Actor::Operator, other, ADA, Role::Viewer).await.unwrap();
    app.change_email(ada.clone(), &link).await.unwrap();
    assert_eq!(email(app, &ada).await, NEW);
    // P9.
    assert_eq!(app.list_invitations(other).await.unwrap(), []);
    assert_no_link(app.change_email(ada.clone(), &link).await);
    let told = mail.next().await;
    assert_eq!(told.to, [ADA]);
    assert!(!told.text().contains(NEW), "{}", told.text());

    let late = ask(ADA).await;
    service.clock.advance(HOUR + Duration::from_millis(1));
    assert_no_link(app.change_email(ada.clone(), &late).await);
    assert_eq!(app.find_email_change(ada.user_id).await.unwrap(), None);
    let events = app.list_own_events(ada.user_id, Part::default()).await;
    let events = events.unwrap();
    let changes = events.iter().filter(|it| it.action == Action::ChangeEmail);
    assert_eq!(changes.count(), 1);
    assert!(!format!("{events:?}").contains("@"), "{events:?}");
    app.delete_expired().await.unwrap();
    for table in ["email_change", "mail_count"] {
        assert_eq!(service.database().rows(table), 0, "{table}");
    }
}

/// P17: a fourth in an hour.
#[tokio::test]
async fn three_links_to_new_emails_are_mailed_an_hour() {
    let (service, mail, _, ada) = with_ada().await;
    let ask = async |email: &str| service.app.ask_for_email_change(ada.clone(), email).await;
    for number in 0..3 {
        ask(&format!("ada{number}@example.org")).await.unwrap();
        mail.next().await;
    }
    assert_too_many(ask(NEW).await);
    // The earlier request is still valid.
    let pending = service.app.find_email_change(ada.user_id).await.unwrap();
    assert_eq!(pending.unwrap().email, "ada2@example.org");
    service.clock.advance(HOUR);
    ask(NEW).await.unwrap();
}

/// P36: the mail server takes its time for what somebody of one team has sent, and not for others.
#[tokio::test]
async fn a_letter_waits_for_those_of_its_team_alone() {
    let (service, mail, team, ada) = with_ada().await;
    let app = &service.app;
    let other = service.team().await;
    let ben = join(app, other, "ben@example.com", Role::Owner).await;
    let cy = join(app, team, "cy@example.com", Role::Owner).await;
    let hang = async |tried: usize| {
        while mail.attempts() < tried {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        mail.behave(Manner::Takes);
    };
    mail.behave(Manner::Hangs);
    app.ask_for_reset(ADA, STRANGER).unwrap();
    hang(1).await;
    app.ask_for_reset("cy@example.com", STRANGER).unwrap();
    app.ask_for_reset("ben@example.com", STRANGER).unwrap();
    // There are more lines for addresses that are stored.
    let mut others = [mail.next().await.to, mail.next().await.to];
    others.sort();
    assert_eq!(others, [["ben@example.com"], ["cy@example.com"]]);

    // To addresses that somebody has typed.
    mail.behave(Manner::Hangs);
    app.invite_by_mail(ada, team, "dee@example.com", Role::Viewer).await.unwrap();
    hang(4).await;
    app.ask_for_email_change(cy, "cy@example.org").await.unwrap();
    app.ask_for_email_change(ben.clone(), "ben@example.org").await.unwrap();
    let letter = mail.next().await;
    assert_eq!(letter.to, ["ben@example.org"]);
    app.change_email(ben, &secret(&letter)).await.unwrap();
    assert_eq!(mail.next().await.to, ["ben@example.com"]);
    assert_eq!((mail.attempts(), mail.waiting().await), (6, None));
}

/// P17: a person may have many accounts in a team.
#[tokio::test]
async fn ten_links_to_one_new_email_are_mailed_an_hour_for_the_users_of_a_team() {
    let (service, mail, team, ada) = with_ada().await;
    let mut users = vec![ada];
    for number in 0..3 {
        let email = format!("bo{number}@example.com");
        users.push(join(&service.app, team, &email, Role::Viewer).await);
    }
    let ask = async |user: &Person, email| {
        service.app.ask_for_email_change(user.clone(), email).await
    };
    for number in 0..10 {
        ask(&users[number / 3], [NEW, "ADA@Example.org"][number % 2]).await.unwrap();
        mail.next().await;
    }
    assert_too_many(ask(&users[3], NEW).await);
    ask(&users[3], "bo@example.org").await.unwrap();
    let other = service.team().await;
    let ben = join(&service.app, other, "ben@example.com", Role::Owner).await;
    ask(&ben, NEW).await.unwrap();
    service.clock.advance(HOUR);
    ask(&users[3], NEW).await.unwrap();
}

/// P2: the requester learns nothing from it, and the email's owner is told at the address as they
/// wrote it.
#[tokio::test]
async fn an_email_that_somebody_has_is_told_to_them_and_changed_by_nobody() {
    let (service, mail, team, ada) = with_ada().await;
    assert!(service.app.sends_mail());
    join(&service.app, team, "Bo@example.org", Role::Viewer).await;
    service.app.ask_for_email_change(ada.clone(), "bo@EXAMPLE.org").await.unwrap();
    let told = mail.next().await;
    assert!(told.link(ORIGIN).is_none(), "{}", told.text());
    // A user's own email may be respelled.
    service.app.ask_for_email_change(ada.clone(), "ADA@example.com").await.unwrap();
    let told = mail.next().await;
    let changed = service.app.change_email(ada.clone(), &secret(&told)).await;
    changed.unwrap();
    assert_eq!(email(&service.app, &ada).await, "ADA@example.com");
}

/// P2, P17: with two who follow their links at once, and one who is late.
#[tokio::test]
async fn an_email_is_given_to_one_user_whatever_the_case() {
    let (service, mail, team, ada) = with_ada().await;
    let app = &service.app;
    let other = mailing(service.another().await, &mail);
    for round in 0..5 {
        let wanted = format!("wanted{round}@example.com");
        let mut links = Vec::new();
        let ben = join(app, team, &format!("ben{round}@example.com"), Role::Viewer).await;
        for (person, email) in [(&ada, wanted.clone()), (&ben, wanted.to_uppercase())] {
            app.ask_for_email_change(person.clone(), &email).await.unwrap();
            links.push(secret(&mail.next().await));
        }
        let results = tokio::join!(
            app.change_email(ada.clone(), &links[0]),
            other.change_email(ben.clone(), &links[1]),
        );
        let (won, lost) = match results {
            (Ok(()), Err(lost)) => (&ada, lost),
            (Err(lost), Ok(())) => (&ben, lost),
            both => panic!("{both:?}"),
        };
        assert!(matches!(lost, Error::Refused(_)), "{lost:?}");
        assert!(email(app, won).await.eq_ignore_ascii_case(&wanted));
        // The old address of the one who won.
        mail.next().await;
        service.clock.advance(HOUR);
    }
    app.ask_for_email_change(ada.clone(), NEW).await.unwrap();
    let link = secret(&mail.next().await);
    app.create_user("Ada@example.org", "Another").await.unwrap();
    let late = app.change_email(ada.clone(), &link).await;
    assert!(matches!(late, Err(Error::Refused(_))), "{late:?}");
    assert_ne!(email(app, &ada).await, NEW);
}

/// P17, P32, P9: whatever depended on the old address ends with it.
#[tokio::test]
async fn links_and_counts_of_the_old_email_end_with_it() {
    let (service, mail, team, ada) = with_ada().await;
    let app = &service.app;
    let reset = app.create_reset_link(ada.user_id).await.unwrap().secret;
    let wrong = invoicing::app::sign_in::SignIn {
        email: ADA.into(),
        password: Secret::from_text("wrong"),
        browser: browser(),
    };
    app.sign_in(wrong).await.unwrap_err();
    assert!(service.database().rows("wrong_password") > 0);
    let theirs = service.team().await;
    for team in [team, theirs] {
        let invited = app.invite(&Actor::Operator, team, "ADA@example.org", Role::Viewer);
        invited.await.unwrap();
    }
    app.ask_for_email_change(ada.clone(), NEW).await.unwrap();
    let link = secret(&mail.next().await);
    app.change_email(ada.clone(), &link).await.unwrap();
    assert_no_link(app.get_reset_link(&reset).await);
    assert_eq!(service.database().rows("wrong_password"), 0);
    assert_eq!(app.list_invitations(team).await.unwrap(), []);
    assert_eq!(app.list_invitations(theirs).await.unwrap().len(), 1);
}

/// P18: even if only the case changes.
#[tokio::test]
async fn the_operator_changes_an_email_and_the_audit_says_so() {
    let service = Service::new().await;
    let app = &service.app;
    let ada = app.create_user(ADA, "Ada").await.unwrap();
    app.create_user("ben@example.com", "Ben").await.unwrap();
    let changed = app.set_email(ada.id, "ADA@example.com").await.unwrap();
    assert_eq!(changed.email, "ADA@example.com");
    // If it stays the same, nothing is recorded or ended.
    let reset = app.create_reset_link(ada.id).await.unwrap().secret;
    app.set_email(ada.id, "ADA@example.com").await.unwrap();
    app.get_reset_link(&reset).await.unwrap();
    let taken = app.set_email(ada.id, "BEN@example.com").await;
    assert!(matches!(taken, Err(Error::Refused(_))), "{taken:?}");
    let wrong = app.set_email(ada.id, "ada").await;
    assert!(matches!(wrong, Err(Error::Invalid(_))), "{wrong:?}");
    let events = app.list_audit_events(None, Part::default()).await.unwrap();
    let told: Vec<_> = events.iter().map(|it| (it.action, it.actor, it.subject)).collect();
    assert!(told.contains(&(Action::ChangeEmail, None, Some(ada.id.0))), "{told:?}");
    let changes = told.iter().filter(|it| it.0 == Action::ChangeEmail);
    assert_eq!(changes.count(), 1, "{told:?}");
    app.delete_user(ada.id).await.unwrap();
    let gone = app.set_email(ada.id, NEW).await;
    assert!(matches!(gone, Err(Error::Missing { .. })), "{gone:?}");
}

/// W25: a deleted user's requests go with them; a user who is no longer signed in cannot make any.
#[tokio::test]
async fn nothing_is_left_of_an_email_whose_user_is_gone() {
    let (service, mail, _, ada) = with_ada().await;
    let app = &service.app;
    app.ask_for_email_change(ada.clone(), NEW).await.unwrap();
    let link = secret(&mail.next().await);
    app.ask_for_reset(ADA, STRANGER).unwrap();
    mail.next().await;
    app.delete_account(ada.clone()).await.unwrap();
    for table in ["email_change", "one_time_link"] {
        assert_eq!(service.database().rows(table), 0, "{table}");
    }
    // What the team has had mailed to the new address, of which there is half a digest.
    assert_eq!(service.database().rows("mail_count"), 1);
    service.clock.advance(HOUR + Duration::from_millis(1));
    app.delete_expired().await.unwrap();
    assert_eq!(service.database().rows("mail_count"), 0);
    let late = app.change_email(ada.clone(), &link).await;
    assert!(matches!(late, Err(Error::InvalidToken)), "{late:?}");
    let asked = app.ask_for_email_change(ada, NEW).await;
    assert!(matches!(asked, Err(Error::InvalidToken)), "{asked:?}");
}

/// P7, P13, P18: without mail, these requests do not exist.
#[tokio::test]
async fn without_mail_nothing_is_asked_for() {
    let service = Service::new().await;
    let app = &service.app;
    let team = service.team().await;
    let ada = join(app, team, ADA, Role::Owner).await;
    assert!(!app.sends_mail());
    assert_no_link(app.ask_for_reset(ADA, STRANGER));
    assert_no_link(app.ask_for_email_change(ada.clone(), NEW).await);
    assert_no_link(app.invite_by_mail(ada.clone(), team, NEW, Role::Viewer).await.map(drop));
    app.invite(&actor(&ada), team, NEW, Role::Viewer).await.unwrap();
}

//! The part of the scenario that people do in browsers.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join;
use invoicing::app::App;
use invoicing::app::invitation::JoinAsNew;
use invoicing::app::set_up::SetUp;
use invoicing::app::sign_in::{Browser, Cookies, SignIn};
use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::{Actor, Person, Visitor};
use invoicing::domain::authentication_request::Purpose;
use invoicing::domain::author::CatalogMember;
use invoicing::domain::authorization::{AuthorizationParameters, Ruling};
use invoicing::domain::browser_session::InBrowser;
use invoicing::domain::catalog::{Catalog, Mode};
use invoicing::domain::id::TeamId;
use invoicing::domain::identity::Claims;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::passkey::ceremony::{Answer, Asked};
use invoicing::domain::product::{NewProduct, ProductChanges};
use invoicing::domain::secret::{Digest, Secret};
use invoicing::domain::session::{Device, TokenRequest};
use invoicing::domain::time::ManualClock;
use test_support::mail::MailServer;
use test_support::passkey::Passkey;
use test_support::postgres::ask;

pub use super::super::support::ORIGIN;
use super::scenario::plan;

const PASSWORD: &str = "lantern harbour tulip nine";

pub async fn run(app: &App, database: &str, clock: &ManualClock, mail: &MailServer) {
    let in_browser = set_up(app).await;
    let person = person(&in_browser);
    let actor = Actor::Person(person.clone());
    let teams = app.list_memberships(person.user_id, Part::one()).await;
    let team = teams.unwrap()[0].member.team_id;
    app.get_membership(team, person.user_id).await.unwrap();
    let (mode, scope) = (Mode::Test, Scope::ReadOnly);
    let made = app.create_api_key(&actor, team, mode, scope, Some("Shop"), None);
    let (key, _) = made.await.unwrap();
    app.list_newest_api_keys(person.user_id, team, Part::one())
        .await
        .unwrap();
    let rotated = app.rotate_api_key(&actor, key.id, None).await.unwrap();
    app.revoke_api_key(&actor, rotated.new.id).await.unwrap();

    let part = Part::default();
    app.list_named_links(person.user_id, team, part)
        .await
        .unwrap();

    sign_in(app, "wrong").await.unwrap_err();
    app.list_refused_sign_ins(person.user_id).await.unwrap();
    let other = sign_in(app, PASSWORD).await.unwrap();
    let other = look_up(app, &other).await;
    app.list_devices(person.user_id, Part::default(), Part::default())
        .await
        .unwrap();
    app.end_browser_session(person.clone(), other.session.id)
        .await
        .unwrap();
    sign_an_app_in(app, person.clone()).await;
    let (_, apps) = app
        .list_devices(person.user_id, Part::default(), Part::default())
        .await
        .unwrap();
    app.end_session(person.clone(), apps[0].id).await.unwrap();
    let password = || Secret::from_text(PASSWORD);
    app.confirm_by_password(&in_browser, password(), browser())
        .await
        .unwrap();
    pile_up_sessions(database);
    app.end_other_sessions(person.clone()).await.unwrap();
    for table in ["session", "browser_session"] {
        ask(
            database,
            &format!("DELETE FROM {table} WHERE user_agent = 'piled up'"),
        );
    }
    app.change_password(person.clone(), &in_browser, password())
        .await
        .unwrap();
    clock.advance(Duration::from_secs(60)); // Uses are noted by the minute.
    let again = sign_in(app, PASSWORD).await.unwrap();
    clock.advance(Duration::from_secs(60));
    look_up(app, &again).await;
    app.record_uses().await.unwrap();

    keep_products(app, team, &person).await;
    use_passkeys(app, &in_browser).await;
    meet(app, team, &person, mail).await;
    move_house(app, &person, mail).await;
    come_from_the_provider(app, &person, &in_browser).await;

    let link = app.create_reset_link(person.user_id).await.unwrap().secret;
    app.get_reset_link(&link).await.unwrap();
    let reset = app.reset_password(&link, password(), browser()).await;
    let in_browser = look_up(app, &reset.unwrap()).await;
    app.sign_out(self::person(&in_browser)).await.unwrap();
    app.list_audit_events(Some(team), Part::default())
        .await
        .unwrap();
    app.list_audit_events(None, Part::default()).await.unwrap();
    app.list_team_events(person.user_id, person.user_id, team, Part::default())
        .await
        .unwrap();
    app.export_user_for_operator(person.user_id).await.unwrap();
    app.deactivate_user(person.user_id).await.unwrap();
    app.activate_user(person.user_id).await.unwrap();
    app.delete_user(person.user_id).await.unwrap();
}

/// Creates, changes and archives products on pages, and imports some.
async fn keep_products(app: &App, team_id: TeamId, person: &Person) {
    let mode = Mode::Test;
    let catalog = Catalog { team_id, mode };
    let member = member(catalog, Role::Owner, person);
    let made = app.create_product(&member, new_product(), None).await;
    let made = made.unwrap().value;
    let changes = ProductChanges::default();
    app.update_product(&member, made.id, changes, None)
        .await
        .unwrap();
    app.archive_product(&member, made.id, None).await.unwrap();

    let csv = "sku,name,unitPrice,currency\nP-1,One,1,EUR\n";
    let plan = plan(app, catalog, csv).await;
    let keep = async || {
        app.keep_import_plan(person, &plan, csv.into())
            .await
            .unwrap()
    };
    let id = keep().await;
    app.get_kept_import(person.user_id, catalog, id)
        .await
        .unwrap();
    app.carry_out_kept_import(person.clone(), catalog, id, Arc::default())
        .await
        .unwrap();
    // The remaining one expires.
    keep().await;
}

/// A user changes their email, and changes it back.
async fn move_house(app: &App, person: &Person, mail: &MailServer) {
    let new = "ada@example.org";
    app.ask_for_email_change(person.clone(), new).await.unwrap();
    let link = mail.next().await.link(ORIGIN).unwrap();
    let link = Secret::from_text(link.rsplit('/').next().unwrap());
    app.find_email_change(person.user_id).await.unwrap();
    app.get_email_change(person.user_id, &link).await.unwrap();
    app.change_email(person.clone(), &link).await.unwrap();
    app.set_email(person.user_id, "ada@example.com")
        .await
        .unwrap();
}

/// Adds a passkey, signs in and confirms with it, detects that it was copied, and removes it.
async fn use_passkeys(app: &App, in_browser: &InBrowser) {
    let person = person(in_browser);
    let asked = app.ask_to_add(in_browser).await.unwrap().unwrap();
    let (mut passkey, credential) = Passkey::make(&asked.options, ORIGIN);
    let made = answer(asked, credential);
    app.add_passkey(person.clone(), "Phone", &made)
        .await
        .unwrap();
    let secret = Secret::base64url();
    for count in [2, 1] {
        passkey.count = count;
        let asked = app.ask_to_sign_in(&secret).await.unwrap().unwrap();
        let credential = passkey.sign(&asked.options);
        let signed = answer(asked, credential);
        let entered = app.sign_in_by_passkey(&signed, &secret, browser()).await;
        assert_eq!(entered.is_ok(), count == 2, "{entered:?}");
    }
    passkey.count = 3;
    let asked = app.ask_to_confirm(in_browser).await.unwrap().unwrap();
    let credential = passkey.sign(&asked.options);
    let signed = answer(asked, credential);
    app.confirm_by_passkey(in_browser, &signed, browser())
        .await
        .unwrap();
    app.ways_to_sign_in(person.user_id).await.unwrap();
    app.count_passkeys_elsewhere().await.unwrap();
    let passkeys = app.list_passkeys(person.user_id).await.unwrap();
    app.remove_passkey(person.clone(), passkeys[0].id)
        .await
        .unwrap();
    app.end_app_sessions(person).await.unwrap();
}

fn answer(asked: Asked, credential: String) -> Answer {
    Answer {
        challenge: asked.challenge,
        credential,
    }
}

/// A user is invited, joins, gets another role, and leaves; the team is deleted.
async fn meet(app: &App, team: TeamId, owner: &Person, mail: &MailServer) {
    let by = Actor::Person(owner.clone());
    let bo = "bo@example.com";
    let mailed = app.invite_by_mail(owner.clone(), team, bo, Role::Viewer);
    mailed.await.unwrap();
    mail.next().await;
    let invited = app.invite(&by, team, bo, Role::Admin).await.unwrap();
    app.list_invitations(team).await.unwrap();
    app.get_invitation(&invited.secret).await.unwrap();
    let newcomer = JoinAsNew {
        link: invited.secret,
        name: "Bo".into(),
        password: Secret::from_text(PASSWORD),
        browser: browser(),
    };
    let (_, cookies) = app.join_as_new(newcomer).await.unwrap();
    let in_browser = look_up(app, &cookies).await;
    let person = self::person(&in_browser);
    app.change_name(person.clone(), "Bo B.").await.unwrap();
    app.list_sign_ins(person.user_id).await.unwrap();
    app.list_refused_passkeys(person.user_id).await.unwrap();
    app.list_own_events(person.user_id, Part::default())
        .await
        .unwrap();
    let as_bo = Actor::Person(person.clone());
    let carl = app.invite(&as_bo, team, "carl@example.com", Role::Admin);
    carl.await.unwrap();
    app.set_role(&by, team, person.user_id, Role::Owner)
        .await
        .unwrap();
    app.set_role(&as_bo, team, person.user_id, Role::Member)
        .await
        .unwrap();
    // At once, so that their statements are combined.
    let (team_id, mode) = (team, Mode::Test);
    let catalog = Catalog { team_id, mode };
    let both = [(Role::Owner, owner), (Role::Member, &person)];
    let [one, other] = both.map(|(role, person)| member(catalog, role, person));
    let (one, other) = join(
        app.create_product(&one, new_product(), None),
        app.create_product(&other, new_product(), None),
    )
    .await;
    one.and(other).unwrap();
    let eve = app.invite(&by, team, "eve@example.com", Role::Viewer);
    let eve = eve.await.unwrap().invitation;
    app.uninvite(&by, team, eve.id).await.unwrap();
    app.remove_member(&by, team, person.user_id, true)
        .await
        .unwrap();
    let alone = app.create_team("Alone").await.unwrap().id;
    let invited = app.invite(&Actor::Operator, alone, bo, Role::Owner).await;
    app.join_as_user(person.clone(), &invited.unwrap().secret)
        .await
        .unwrap();
    app.delete_account(person).await.unwrap();
}

/// A user links an identity, confirms with it, and unlinks it; others are found by their email, or invited.
async fn come_from_the_provider(app: &App, owner: &Person, in_browser: &InBrowser) {
    let claims = |subject: &str, email: &str| Claims {
        signed_in_at: None,
        issuer: "https://accounts.example.com".into(),
        subject: subject.into(),
        email: Some(email.into()),
        email_verified: true,
        name: None,
    };
    let ada = || claims("ada", "ada@example.com");
    app.begin_authentication(Purpose::SignIn, "/")
        .await
        .unwrap();
    app.link_identity(owner.clone(), ada()).await.unwrap();
    app.confirm_by_provider(in_browser, ada()).await.unwrap();
    let identities = app.list_identities(owner.user_id).await.unwrap();
    app.ways_to_sign_in(owner.user_id).await.unwrap();
    app.unlink_identity(owner.clone(), identities[0].id)
        .await
        .unwrap();
    let created = app.create_user("carl@example.com", "Carl").await;
    let carl = claims("carl", "carl@example.com");
    app.sign_in_by_provider(carl, browser()).await.unwrap();
    app.delete_user(created.unwrap().id).await.unwrap();
}

async fn set_up(app: &App) -> InBrowser {
    let link = app.create_set_up_link().await.unwrap().secret;
    app.get_set_up_link(&link).await.unwrap();
    let set_up = SetUp {
        link,
        name: "Ada".into(),
        email: "ada@example.com".into(),
        password: Secret::from_text(PASSWORD),
        team: "First".into(),
        browser: browser(),
    };
    look_up(app, &app.set_up(set_up).await.unwrap()).await
}

async fn sign_in(app: &App, password: &str) -> Result<Cookies, invoicing::domain::Error> {
    let attempt = SignIn {
        email: "ADA@example.com".into(),
        password: Secret::from_text(password),
        browser: browser(),
    };
    app.sign_in(attempt).await
}

async fn sign_an_app_in(app: &App, person: Person) {
    const REDIRECT_URI: &str = "com.example.desk:/signed-in";
    let uris = [REDIRECT_URI.to_owned()];
    let client = app.create_oauth_client("desk", "Desk", &uris).await;
    let client_id = client.unwrap().id;
    // RFC 7636, appendix B.
    let code_verifier = Secret::from_text("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    let query = format!(
        "response_type=code&client_id=desk&redirect_uri={REDIRECT_URI}&code_challenge_method=S256\
         &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    );
    let asked = AuthorizationParameters::parse(&query);
    let ruling = app.check_authorization_request(Some(person.user_id), asked);
    let Ruling::Ask(request, _) = ruling.await.unwrap() else {
        panic!("the request is good");
    };
    let issued = app.approve_authorization(person, &request);
    let request = TokenRequest::AuthorizationCode {
        code: issued.await.unwrap().code,
        code_verifier,
        redirect_uri: REDIRECT_URI.into(),
        client_id,
        device: Device {
            install_id: None,
            user_agent: None,
            client_address: None,
        },
    };
    app.exchange_token(request).await.unwrap();
}

/// More sessions of one user than are ended row by row.
fn pile_up_sessions(database: &str) {
    for (table, id, columns) in [
        (
            "session",
            "id",
            "user_id, client_id, created_at, last_used_at, expires_at",
        ),
        (
            "browser_session",
            "id, digest",
            "user_id, created_at, signed_in_at, last_used_at",
        ),
    ] {
        let new = match id {
            "id" => "gen_random_uuid()",
            _ => "gen_random_uuid(), sha256(gen_random_uuid()::text::bytea)",
        };
        ask(
            database,
            &format!(
                "INSERT INTO {table} ({id}, user_agent, {columns}) SELECT {new}, 'piled up', {columns} \
                 FROM (SELECT * FROM {table} LIMIT 1) AS one, generate_series(1, 501)"
            ),
        );
    }
}

async fn look_up(app: &App, cookies: &Cookies) -> InBrowser {
    let presented = app.presented_cookie(cookies.session.reveal()).unwrap();
    app.look_up_cookie(presented).await.unwrap()
}

fn member(catalog: Catalog, role: Role, person: &Person) -> CatalogMember {
    CatalogMember {
        catalog,
        role,
        user_id: person.user_id,
        session_id: person.session_id,
    }
}

fn new_product() -> NewProduct {
    NewProduct::new("By hand", "1".parse().unwrap(), "EUR")
}

fn person(in_browser: &InBrowser) -> Person {
    in_browser.person(browser().visitor)
}

fn browser() -> Browser {
    Browser {
        visitor: Visitor {
            address: [192, 0, 2, 1].into(),
            user_agent: Some("Browser/1".into()),
        },
        network: Digest::of(b"192.0.2.1"),
        device: None,
        session: None,
    }
}

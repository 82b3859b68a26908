//! The export of everything stored about a user, as one document: events are read part by part.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::catalog::{Catalog, Mode};
use invoicing::domain::identity::Claims;
use invoicing::domain::item::ItemId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::product_csv::Lines;
use invoicing::domain::product_import::Seen;
use invoicing::domain::share_link::{Audience, CreateLink};

use super::super::engine::RANDOM_ID;
use super::super::signed_in::{actor, join};
use super::super::support::{START, Service, STRANGER};
use super::deactivation::{app_of, issue};
use super::passkey::with_passkey;
use super::support::{browser, person, sign_in};

#[tokio::test]
async fn of_any_number_of_events_all_are_told_and_ten_thousand_at_most() {
    let service = Service::new().await;
    let team = service.team().await;
    let bo = join(&service.app, team, "bo@example.com", Role::Viewer).await;
    let its = "audit_event WHERE actor = (SELECT id FROM \"user\" WHERE email = 'bo@example.com')";
    // A part is 500.
    for events in [499, 500, 501, 10_000, 10_001, 10_500] {
        while service.database().rows(its) < events {
            let missing = events - service.database().rows(its);
            service.database().change(&format!(
                "INSERT INTO audit_event (id, actor, action, created_at) \
                 SELECT {RANDOM_ID}, actor, action, created_at FROM {its} LIMIT {missing}"
            ));
        }
        let told = service.app.export_user(bo.user_id).await.unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        // Pretty-printed, as people read it.
        assert_eq!(format!("{told:#}"), service.app.export_user(bo.user_id).await.unwrap());
        let done = told["done"].as_array().unwrap().len() as i64;
        let expected = (events.min(10_000), events > 10_000);
        assert_eq!((done, told["moreDone"] == true), expected);
    }
}

#[tokio::test]
async fn exports_of_a_team_take_turns_so_that_of_another_team_is_made_first() {
    let service = Service::new().await;
    let (team, other) = (service.team().await, service.team().await);
    let mut people = Vec::new();
    for number in 0..6 {
        let email = format!("{number}@example.com");
        people.push(join(&service.app, team, &email, Role::Viewer).await.user_id);
    }
    people.push(join(&service.app, other, "bo@example.com", Role::Viewer).await.user_id);
    service.database().change(&format!(
        "INSERT INTO audit_event (id, actor, action, created_at) \
         WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 2000) \
         SELECT {RANDOM_ID}, \"user\".id, 'create-api-key', created_at FROM \"user\", number"
    ));
    let export = async |&id| service.app.export_user(id).await.map(|_| id);
    let mut exports: FuturesUnordered<_> = people.iter().map(export).collect();
    let first = exports.next().await.unwrap();
    assert_eq!(Some(&first.unwrap()), people.last());
    assert_eq!(exports.count().await, 6);
}

#[tokio::test]
async fn each_kind_of_what_is_stored_is_told_with_all_that_is_known_of_it() {
    let (service, mail) = Service::mailing().await;
    let app = &service.app;
    let (team_id, other) = (service.team().await, service.team().await);
    let bo = join(app, team_id, "bo@example.com", Role::Owner).await;
    app_of(app, bo.user_id).await;
    issue(app, bo.user_id).await.unwrap();
    let refused = sign_in(&service, "bo@example.com", "wrong", browser("192.0.2.2")).await;
    refused.unwrap_err();
    let (by, live) = (actor(&bo), Mode::Live);
    app.create_api_key(&by, team_id, live, Scope::ReadOnly, Some("Shop"), None).await.unwrap();
    let folder = app.create_folder(team_id, "Contracts").await.unwrap().id;
    let link = CreateLink {
        item_id: ItemId::Folder(folder),
        user_id: bo.user_id,
        name: Some("To read".into()),
        audience: Audience::Public,
        can_download: true,
        password: None,
        expires_in: None,
    };
    app.create_link(link).await.unwrap();
    let catalog = Catalog { team_id, mode: live };
    let csv = b"name,unitPrice,currency\nA,1,EUR\n";
    let plan = app.plan_import(catalog, Lines::read(csv).unwrap(), &mut Seen::default()).await;
    app.keep_import_plan(&bo, &plan.unwrap(), csv.to_vec()).await.unwrap();
    app.invite(&Actor::Operator, other, "bo@example.com", Role::Viewer).await.unwrap();
    app.invite(&by, team_id, "cy@example.com", Role::Viewer).await.unwrap();
    app.create_reset_link(bo.user_id).await.unwrap();
    app.ask_for_reset("bo@example.com", STRANGER).unwrap();
    mail.next().await;

    let told = app.export_user(bo.user_id).await.unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["user"]["createdAt"], START.to_string());
    for (kind, members) in [
        ("browsers", "id userAgent createdAt signedInAt lastUsedAt"),
        ("apps", "id clientId installId userAgent createdAt lastUsedAt expiresAt"),
        ("codes", "clientId redirectUri expiresAt"),
        ("refusedSignIns", "minute clientAddress count"),
        ("wrongPasswords", "count since"),
        ("teams", "id name role since"),
        ("apiKeys", "id teamId name mode scope createdAt expiresAt revokedAt"),
        ("shareLinks", "id teamId name createdAt"),
        ("invitationsSent", "id teamId role createdAt expiresAt"),
        ("imports", "teamId mode since"),
        ("invitations", "id teamId role createdAt expiresAt"),
        ("letters", "occasion count since"),
        ("links", "purpose expiresAt"),
        ("doneByOthers", "action at teamId userId detail"),
        ("done", "action at teamId subject detail clientAddress userAgent"),
    ] {
        let first = told[kind][0].as_object();
        let names = first.map(|it| it.keys().cloned().collect::<Vec<_>>().join(" "));
        assert_eq!(names.as_deref(), Some(members), "{kind}");
        let more = format!("more{}{}", kind[..1].to_uppercase(), &kind[1..]);
        assert_eq!(told[&more], false, "{more}");
    }
    assert_eq!(told["apiKeys"][0]["name"], "Shop");
    assert_eq!(told["invitationsSent"][0]["teamId"], team_id.to_string());
    assert_eq!(told["refusedSignIns"][0]["clientAddress"], "192.0.2.2");
}

#[tokio::test]
async fn the_audit_says_what_the_operator_is_told_of_whom() {
    let service = Service::new().await;
    let app = &service.app;
    let bo = join(app, service.team().await, "bo@example.com", Role::Viewer).await;
    let told = app.export_user_for_operator(bo.user_id).await.unwrap();
    assert_eq!(told, app.export_user(bo.user_id).await.unwrap());
    let newest = app.list_audit_events(None, Part::one()).await.unwrap().remove(0);
    let said = (newest.action, newest.actor, newest.subject);
    assert_eq!(said, (Action::ExportUser, None, Some(bo.user_id.0)));
}

#[tokio::test]
async fn ways_to_sign_in_are_told_without_their_keys() {
    let (service, ada, _) = with_passkey().await;
    let app = &service.app;
    let claims = Claims {
        issuer: "https://accounts.example.com".into(),
        subject: "1".into(),
        email: None,
        email_verified: false,
        name: None,
        signed_in_at: None,
    };
    app.link_identity(person(&ada), claims).await.unwrap();
    let told = app.export_user(ada.user.id).await.unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let names = |kind: &str| {
        let first = told[kind][0].as_object().unwrap();
        first.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("passkeys"), "id name host createdAt lastUsedAt");
    assert_eq!(told["passkeys"][0]["host"], "invoices.example.com");
    assert_eq!(names("identities"), "id issuer subject email createdAt");
    assert_eq!(told["identities"][0]["subject"], "1");
}

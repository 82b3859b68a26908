//! The work of a replica, in which it sends each of its statements at least once.

use std::time::Duration;

use futures::future::join;
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::Actor;
use invoicing::domain::auth_code::CodeChallenge;
use invoicing::domain::author::Caller as _;
use invoicing::domain::catalog::{Catalog, Mode};
use invoicing::domain::holder::Holder;
use invoicing::domain::id::{TeamId, UserId};
use invoicing::domain::idempotency::{AHEAD, IdempotentRequest, NOTICED};
use invoicing::domain::item::ItemId;
use invoicing::domain::member::Role;
use invoicing::domain::oauth_client::ClientId;
use invoicing::domain::product::{Product, ProductChanges, StatusFilter};
use invoicing::domain::product_csv::Lines;
use invoicing::domain::product_import::{ImportPlan, Seen};
use invoicing::domain::secret::{Digest, Secret};
use invoicing::domain::session::{Device, TokenRequest, TokenSet};
use invoicing::domain::share_link::{Audience, CreateLink};
use invoicing::domain::team::NamedTeam;
use invoicing::domain::time::{Clock as _, ManualClock};
use invoicing::domain::user::NamedUser;
use invoicing::store::{Sql, Store, product};
use openapi_dropshot_runtime::{Field, json};

use test_support::mail::MailServer;

use super::super::support::with_sku;
use super::people;

const REDIRECT_URI: &str = "com.example.app:/signed-in";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// Runs the scenario. Statements that a replica does not send, such as piles of rows, go directly to the
/// `database`.
pub async fn run(app: &App, store: &Store, database: &str, clock: &ManualClock, mail: &MailServer) {
    app.check_health().await.unwrap();
    app.overview().await.unwrap();
    people::run(app, database, clock, mail).await;
    let team = app.create_team("Acme").await.unwrap().id;
    app.list_teams(Default::default()).await.unwrap();
    app.get_team(team.into()).await.unwrap();
    app.get_team(NamedTeam::Name("Acme".into())).await.unwrap();
    sell(app, store, team).await;
    // As if the clock had been ahead until now.
    let ahead = clock.now();
    clock.set(ahead.before(2 * AHEAD));
    for _ in 0..NOTICED {
        app.date_records_ahead().await.unwrap();
    }
    clock.set(ahead);
    let user = app.create_user("ada@example.com", "Ada").await.unwrap().id;
    app.add_member(team, user, Role::Admin).await.unwrap();
    app.membership(team, user).await.unwrap();
    import(app, team).await;
    meet(app, team, user).await;
    share(app, team, user).await;
    sign_in(app, clock, user).await;
    app.remove_member(&Actor::Operator, team, user, false)
        .await
        .unwrap();
    app.delete_user(user).await.unwrap();
    app.rename_team(team, "Acme Ltd").await.unwrap();
    app.delete_team(team.into(), "Acme Ltd").await.unwrap();
    clock.advance(Duration::from_secs(400 * 24 * 3600));
    app.delete_expired().await.unwrap();
    app.empty_all().await.unwrap();
}

async fn meet(app: &App, team: TeamId, user: UserId) {
    app.list_users(Default::default()).await.unwrap();
    app.get_user(user.into()).await.unwrap();
    let named = NamedUser::Email("ADA@example.com".into());
    app.get_user(named).await.unwrap();
    app.list_members(team, Default::default()).await.unwrap();
    app.list_memberships(user, Default::default())
        .await
        .unwrap();
    app.get_member(team, user).await.unwrap();
}

async fn sell(app: &App, store: &Store, team: TeamId) {
    let secret = async |name| {
        let (by, mode, scope) = (&Actor::Operator, Mode::Live, Scope::ReadWrite);
        let created = app.create_api_key(by, team, mode, scope, Some(name), None);
        created.await.unwrap().1
    };
    let shop = secret("Shop").await;
    let key = app.authenticate_api_key(shop.reveal()).await.unwrap();
    let (till, stock) = (secret("Till").await, secret("Stock").await);
    let both = async || {
        join(
            app.authenticate_api_key(till.reveal()),
            app.authenticate_api_key(stock.reveal()),
        )
        .await
    };
    // Strangers are looked up apart; known callers together, once the lease of what was read of them has ended.
    let (one, other) = both().await;
    one.and(other).unwrap();
    tokio::time::sleep(Duration::from_millis(250)).await;
    // At once, so that their statements are combined.
    let (other_key, third_key) = both().await;
    let other_key = other_key.unwrap();
    assert_ne!(other_key, third_key.unwrap());
    let request = |key| {
        let body = json::Value::Number("1");
        let request = IdempotentRequest::new(key, "POST", "/api/v1/products", &body);
        Some(request)
    };
    for replayed in [false, true] {
        let made = app
            .create_product(&key, with_sku("A"), request("one"))
            .await;
        assert_eq!(made.unwrap().replayed, replayed);
    }
    app.create_product(&key, with_sku("A"), None)
        .await
        .unwrap_err();
    let (b, c) = join(
        app.create_product(&key, with_sku("B"), request("two")),
        app.create_product(&other_key, with_sku("C"), request("three")),
    )
    .await;
    let (b, c) = (b.unwrap().value.id, c.unwrap().value.id);
    let patch = |id| app.update_product(&key, id, ProductChanges::default(), None);
    let (one, other) = join(patch(b), patch(c)).await;
    one.and(other).unwrap();
    let taken = ProductChanges {
        sku: Field::Value("A".into()),
        ..ProductChanges::default()
    };
    app.update_product(&key, b, taken, None).await.unwrap_err();
    // The index that refuses it, if another replica takes it meanwhile, is recognized by its name.
    let taken = Product {
        sku: Some("A".into()),
        ..app.get_product(&key, b).await.unwrap()
    };
    let catalog = key.catalog();
    let take = async move |sql: Sql<'_>| {
        sql.run(product::update(catalog, &taken, false))
            .await
            .map(drop)
    };
    let refused = store.write(Holder::Service, take).await;
    assert!(matches!(refused, Err(Error::DuplicateSku)), "{refused:?}");
    app.list_products(&key, StatusFilter::Active, 10, None)
        .await
        .unwrap();
    let page = app
        .list_products(&key, StatusFilter::All, 10, None)
        .await
        .unwrap();
    let id = page.items.last().unwrap().id;
    for status in [StatusFilter::Active, StatusFilter::All] {
        let list = |limit| app.list_products(&key, status, limit, None);
        let (one, other) = join(list(1), list(2)).await;
        assert_ne!(one.unwrap(), other.unwrap());
    }
    app.get_product(&key, id).await.unwrap();
    let (one, other) = join(app.get_product(&key, b), app.get_product(&key, c)).await;
    assert_ne!(one.unwrap(), other.unwrap());
    patch(id).await.unwrap();
    app.archive_product(&key, id, None).await.unwrap();
    let archive = |id| app.archive_product(&key, id, None);
    let (one, other) = join(archive(b), archive(c)).await;
    one.and(other).unwrap();
    app.record_uses().await.unwrap();
    app.list_api_keys(Some(team), Default::default())
        .await
        .unwrap();
    app.list_api_keys(None, Default::default()).await.unwrap();
    app.get_api_key(key.id).await.unwrap();
    // The second time, it is revoked already.
    for _ in 0..2 {
        app.revoke_api_key(&Actor::Operator, key.id).await.unwrap();
    }
}

async fn import(app: &App, team: TeamId) {
    let catalog = Catalog {
        team_id: team,
        mode: Mode::Test,
    };
    let csv = "sku,name,unitPrice,currency\nA,One,1,EUR\nB,Two,2,EUR\n";
    let new = plan(app, catalog, csv).await;
    app.carry_out_import(&new).await.unwrap();
    let made = app.export_products(catalog, StatusFilter::Active, None, 10);
    let made = made.await.unwrap();
    let changed = plan(app, catalog, &format!("id,taxRate\n{},7.70\n", made[0].id)).await;
    app.carry_out_import(&changed).await.unwrap();
}

pub async fn plan(app: &App, catalog: Catalog, csv: &str) -> ImportPlan {
    let lines = Lines::read(csv.as_bytes()).unwrap();
    let mut seen = Seen::default();
    app.plan_import(catalog, lines, &mut seen).await.unwrap()
}

async fn share(app: &App, team: TeamId, user: UserId) {
    let folder = app.create_folder(team, "Contracts").await.unwrap().id;
    let file = app
        .create_file(team, "a.pdf", Some(folder))
        .await
        .unwrap()
        .id;
    app.list_folders(team, Default::default()).await.unwrap();
    app.list_files(team, Default::default()).await.unwrap();
    app.get_folder(folder).await.unwrap();
    app.get_file(file).await.unwrap();
    app.list_team_links(team, Default::default()).await.unwrap();
    app.list_user_links(user, Default::default()).await.unwrap();
    app.rename_folder(folder, "Offers").await.unwrap();
    app.rename_file(file, "b.pdf").await.unwrap();
    for item_id in [ItemId::Folder(folder), ItemId::File(file)] {
        let create = CreateLink {
            item_id,
            user_id: user,
            name: Some("For the auditor".into()),
            audience: Audience::Public,
            can_download: true,
            password: None,
            expires_in: Some(Duration::from_secs(60)),
        };
        let link = app.create_link(create).await.unwrap();
        assert_eq!(app.list_links(user, team, item_id).await.unwrap().len(), 1);
        app.get_link(link.id).await.unwrap();
        app.revoke_link(&Actor::Operator, link.id).await.unwrap();
    }
    let other = app.create_file(team, "c.pdf", None).await.unwrap().id;
    app.delete_file(other).await.unwrap();
    app.delete_folder(folder, true).await.unwrap();
}

async fn sign_in(app: &App, clock: &ManualClock, user: UserId) {
    let client = ClientId::new("app");
    let uris = [REDIRECT_URI.to_owned()];
    app.create_oauth_client("app", "An app", &uris)
        .await
        .unwrap();
    app.list_oauth_clients(Default::default()).await.unwrap();
    app.get_oauth_client(client.clone()).await.unwrap();
    let code = || async {
        let challenge = CodeChallenge::from_digest(Digest::of(VERIFIER.as_bytes()));
        let issued = app.issue_auth_code(user, &client, REDIRECT_URI, challenge);
        issued.await.unwrap().code
    };
    let first = exchange(app, &code().await).await;
    clock.advance(Duration::from_secs(60)); // Uses are noted by the minute.
    let caller = app.authenticate_access_token(&first.access_token).await;
    assert_eq!(caller.unwrap().user_id, user);
    app.record_uses().await.unwrap();
    // A repeat within the grace gets the same pair again; one after it ends the session.
    let second = refresh(app, &first).await.unwrap();
    let repeat = refresh(app, &first).await.unwrap();
    assert_eq!(repeat.access_token.reveal(), second.access_token.reveal());
    clock.advance(Duration::from_secs(31));
    app.erase_successors().await.unwrap();
    refresh(app, &first).await.unwrap_err();
    app.look_for_late_commits().await.unwrap();
    // At once, so that their statements are combined; the second time, each ends the grace of the first.
    let codes = (code().await, code().await);
    let mut pairs = join(exchange(app, &codes.0), exchange(app, &codes.1)).await;
    for _ in 0..2 {
        let (one, other) = join(refresh(app, &pairs.0), refresh(app, &pairs.1)).await;
        pairs = (one.unwrap(), other.unwrap());
    }
    let (one, other) = join(
        app.authenticate_access_token(&pairs.0.access_token),
        app.authenticate_access_token(&pairs.1.access_token),
    )
    .await;
    assert_ne!(one.unwrap().session_id, other.unwrap().session_id);
    app.revoke_sessions_of_user(user).await.unwrap();
    exchange(app, &code().await).await;
    let sessions = app
        .list_sessions(Some(user), Default::default())
        .await
        .unwrap();
    assert_eq!(sessions.len(), 1);
    app.list_sessions(None, Default::default()).await.unwrap();
    app.get_session(sessions[0].id).await.unwrap();
    app.revoke_session(sessions[0].id).await.unwrap();
    exchange(app, &code().await).await;
    app.revoke_sessions_of_user(user).await.unwrap();
    let uris = ["com.example.app:/back".to_owned(), REDIRECT_URI.to_owned()];
    for uris in [&uris[..], &uris[1..]] {
        let changed = app.update_oauth_client(&client, Some("The app"), Some(uris));
        changed.await.unwrap();
    }
    exchange(app, &code().await).await;
    app.revoke_sessions_of_client(&client).await.unwrap();
    code().await;
    app.delete_oauth_client(&client).await.unwrap();
}

fn phone() -> Device {
    Device {
        install_id: Some("phone".into()),
        user_agent: Some("App/1".into()),
        client_address: None,
    }
}

async fn exchange(app: &App, code: &Secret) -> TokenSet {
    let request = TokenRequest::AuthorizationCode {
        code: code.clone(),
        code_verifier: Secret::from_text(VERIFIER),
        redirect_uri: REDIRECT_URI.into(),
        client_id: ClientId::new("app"),
        device: phone(),
    };
    app.exchange_token(request).await.unwrap()
}

async fn refresh(app: &App, tokens: &TokenSet) -> Result<TokenSet, Error> {
    let request = TokenRequest::RefreshToken {
        refresh_token: tokens.refresh_token.clone(),
        client_id: ClientId::new("app"),
        device: phone(),
    };
    app.exchange_token(request).await
}

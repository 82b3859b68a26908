//! What was done before, and is told again: whoever is told may rely on it, so a synchronous standby must have it.
//!
//! What waits for the standby is there once the server has crashed and runs again. If the standby takes over then, it has
//! nothing of that.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use invoicing::domain::Error;
use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::Actor;
use invoicing::domain::author::CatalogMember;
use invoicing::domain::catalog::{Catalog, Mode};
use invoicing::domain::idempotency::IdempotentRequest;
use invoicing::domain::member::Role;
use invoicing::domain::oauth_client::ClientId;
use invoicing::domain::product::ProductChanges;
use invoicing::domain::session::Device;
use openapi_dropshot_runtime::json;
use test_support::postgres::{Cluster, ask};

use super::session::Mobile;
use super::signed_in::join;
use super::support::plain;
use super::unanswered::service;

/// Twice as long as a caller waits for a commit, and a little.
const LASTS: Duration = Duration::from_secs(11);

/// Has the commits that wait for the standby end without it, as a crash of the server does.
fn let_go(url: &str) {
    let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let cancelled = format!("SELECT count(pg_cancel_backend(pid)) {waiting}");
    ask(url, &cancelled);
    let begun = Instant::now();
    while ask(url, &format!("SELECT count(*) {waiting}")) != "0" {
        assert!(begun.elapsed() < LASTS, "they wait for the standby still");
    }
}

#[track_caller]
fn assert_unavailable<T: Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_and_a_revocation_are_told_only_once_the_standby_has_what_was_done_before() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let service = service(&url).await;
    let app = &service.app;
    let key = service.writer().await;
    let other = service.key(key.team_id, Mode::Live, Scope::ReadOnly).await;
    let create = || {
        let body = json::Value::Object(Vec::new());
        let request = IdempotentRequest::new("k", "POST", "/api/v1/products", &body);
        app.create_product(&key, plain("A"), Some(request))
    };
    let revoke = || app.revoke_api_key(&Actor::Operator, other.id);
    cluster.wait_for_standby("nobody");
    let (created, revoked) = tokio::join!(create(), revoke());
    assert_unavailable(created);
    assert_unavailable(revoked);
    let_go(&url);
    let found = app.get_api_key(other.id).await.unwrap();
    assert!(found.key.revoked_at.is_some());
    // One after the other, so that neither is refused for the other's sake.
    assert_unavailable(revoke().await);
    assert_unavailable(create().await);
    cluster.wait_for_standby("");
    assert!(create().await.unwrap().replayed);
    revoke().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_a_product_is_changed_archived_or_imported_is_told_only_once_the_standby_has_that() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let service = service(&url).await;
    let (app, key) = (&service.app, service.writer().await);
    let (team_id, mode) = (key.team_id, Mode::Live);
    let product = app.create_product(&key, plain("A"), None).await.unwrap();
    let person = join(app, team_id, "ada@example.com", Role::Admin).await;
    let member = CatalogMember {
        catalog: Catalog { team_id, mode },
        user_id: person.user_id,
        session_id: person.session_id,
        role: Role::Admin,
    };
    let rename = || {
        let changes = ProductChanges {
            name: Some("B".into()),
            ..ProductChanges::default()
        };
        app.update_product(&member, product.value.id, changes, None)
    };
    let rely = || app.rely_on_product(&member, product.value.id);
    let archive = || app.archive_product(&member, product.value.id, None);
    cluster.wait_for_standby("nobody");
    assert_unavailable(rename().await);
    let_go(&url);
    assert_unavailable(rely().await);
    let_go(&url);
    assert_unavailable(archive().await);
    let_go(&url);
    assert_unavailable(archive().await);
    assert_unavailable(app.rely_on_imports(team_id).await);
    cluster.wait_for_standby("");
    rely().await.unwrap();
    archive().await.unwrap();
    app.rely_on_imports(team_id).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_an_app_is_signed_out_is_told_only_once_the_standby_has_that() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let mobile = Mobile::on(service(&url).await).await;
    let tokens = mobile.sign_in().await;
    let sign_out = |token| mobile.revoke_token(token, ClientId::new("app"), Device::default());
    cluster.wait_for_standby("nobody");
    assert_unavailable(sign_out(&tokens.access_token).await);
    let_go(&url);
    assert_unavailable(sign_out(&tokens.access_token).await);
    let_go(&url);
    assert_unavailable(sign_out(&tokens.refresh_token).await);
    cluster.wait_for_standby("");
    assert!(!sign_out(&tokens.access_token).await.unwrap());
    assert!(!sign_out(&tokens.refresh_token).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_the_sessions_of_an_app_have_ended_is_told_only_once_the_standby_has_that() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let mobile = Mobile::on(service(&url).await).await;
    mobile.sign_in().await;
    let app = ClientId::new("app");
    let end_all = || mobile.revoke_sessions_of_client(&app);
    cluster.wait_for_standby("nobody");
    for _ in 0..2 {
        assert_unavailable(end_all().await);
        let_go(&url);
    }
    cluster.wait_for_standby("");
    assert_eq!(end_all().await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_a_team_has_its_name_is_told_only_once_the_standby_has_that() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let app = &service(&url).await.app;
    let team = app.create_team("Acme").await.unwrap().id;
    let rename = || app.rename_team(team, "Globex");
    cluster.wait_for_standby("nobody");
    assert_unavailable(rename().await);
    let_go(&url);
    assert_unavailable(rename().await);
    cluster.wait_for_standby("");
    assert_eq!(rename().await.unwrap().name, "Globex");
}

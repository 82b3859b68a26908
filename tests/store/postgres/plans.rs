//! The plans that PostgreSQL makes from what it has counted, and from what it has not.

use invoicing::domain::catalog::{Catalog, Mode};
use test_support::postgres::ask;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls};

use super::product_import;
use super::relay::migrated;
use super::support::Service;
use super::upgrade::record::Statement;
use super::upgrade::said;

/// A catalog with this many active products and no other.
const PRODUCTS: u32 = 20_000;

/// Events, all of one team and one user.
const EVENTS: u32 = 20_000;

/// Sessions whose grace is over, each of a user of its own.
const SESSIONS: u32 = 5_000;

const USER: &str = "'00000000-0000-7000-8000-000000000000'";

/// The lines of the plan of a statement.
pub async fn plan(client: &Client, statement: &Statement) -> Vec<String> {
    let parameters: Vec<_> = statement
        .parameters
        .iter()
        .flatten()
        .map(|parameter| (parameter as &(dyn ToSql + Sync), parameter.kind()))
        .collect();
    let explain = format!("EXPLAIN (COSTS OFF) {}", statement.sql);
    let plan = client.query_typed(&explain, &parameters).await.unwrap();
    plan.iter().map(|line| line.get(0)).collect()
}

/// A database in which PostgreSQL has counted active products of one team and events of one user, but no grace.
async fn counted() -> String {
    let url = migrated().await;
    ask(
        &url,
        &format!(
            "INSERT INTO team (id, name, created_at) VALUES (gen_random_uuid(), 'Acme', 0); \
             INSERT INTO product (team_id, mode, id, name, unit_price, currency, type, status, created_at, updated_at) \
                 SELECT team.id, 'live', gen_random_uuid(), 'Box', 1, 'EUR', 'goods', 'active', 0, 0 \
                 FROM team, generate_series(1, {PRODUCTS}); \
             INSERT INTO audit_event (id, team_id, actor, action, subject, created_at) \
                 SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, team.id, {USER}, 'change-name', {USER}, n \
                 FROM team, generate_series(1, {EVENTS}) n; \
             INSERT INTO \"user\" (id, email, name, created_at) \
                 SELECT gen_random_uuid(), n || '@example.com', 'Ada', 0 FROM generate_series(1, {SESSIONS}) n; \
             INSERT INTO oauth_client (id, name, created_at) VALUES ('app', 'App', 0); \
             INSERT INTO session (id, user_id, client_id, created_at, last_used_at, expires_at) \
                 SELECT gen_random_uuid(), \"user\".id, 'app', 0, 0, 0 FROM \"user\"; \
             INSERT INTO refresh_token (digest, session_id, spent_at, successor) \
                 SELECT sha256(id::text::bytea), id, 0, '\\x00' FROM session; \
             UPDATE refresh_token SET successor = NULL"
        ),
    );
    ask(&url, "VACUUM ANALYZE");
    url
}

#[tokio::test]
async fn what_postgresql_has_not_counted_makes_no_statement_go_through_all_rows() {
    let url = counted().await;
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let said = said().await;
    let of = |parts: &[&str]| {
        let mut found: Vec<_> = said
            .iter()
            .filter(|it| parts.iter().all(|part| it.sql.contains(part)))
            .collect();
        found.dedup_by(|one, other| one.sql == other.sql);
        assert!(!found.is_empty(), "{parts:?}");
        found
    };
    for list in of(&["FROM product ", "status DESC", "LIMIT"]) {
        let plan = plan(&client, list).await.join("\n");
        assert!(plan.contains("using product_status"), "{plan}");
    }
    for (order, index) in [
        ("team_id DESC", "audit_event_team_id"),
        ("actor DESC", "audit_event_actor"),
        ("subject DESC", "audit_event_by_others"),
    ] {
        for list in of(&["FROM audit_event ", order]) {
            let plan = plan(&client, list).await.join("\n");
            assert!(plan.contains(&format!("using {index}")), "{plan}");
        }
    }
    for end in of(&["UPDATE refresh_token SET successor = NULL", "session_id"]) {
        let plan = plan(&client, end).await.join("\n");
        assert!(plan.contains("using refresh_token_grace "), "{plan}");
    }
    for find in of(&["asked_sku", " FROM product "]) {
        let plan = plan(&client, find).await.join("\n");
        assert!(
            plan.contains("using product_sku") && plan.contains("(sku = "),
            "{plan}"
        );
    }
    for find in of(&["asked_id", " FROM product ", "'archived'"]) {
        let plan = plan(&client, find).await;
        let scans = plan.windows(2).filter(|it| it[0].contains(" on product"));
        let good = scans.clone().filter(|it| {
            let by_id = it[1].contains("Index Cond:") && it[1].contains("(id = (unnest(");
            by_id && (it[0].contains("product_pkey") || it[1].contains("(status = "))
        });
        assert_eq!((scans.count(), good.count()), (2, 2), "{}", plan.join("\n"));
    }
    for delete in of(&["DELETE FROM product "]) {
        let plan = plan(&client, delete).await.join("\n");
        assert!(!plan.contains("Semi Join"), "{plan}");
    }
}

/// Otherwise the third import of ten thousand lines into a new database takes minutes.
#[tokio::test]
async fn what_an_import_adds_is_counted_at_once() {
    let service = Service::new().await;
    let team = service.team().await;
    let catalog = Catalog {
        team_id: team,
        mode: Mode::Live,
    };
    let lines = (0..100).map(|number| format!("S-{number},Box,1,EUR\n"));
    let csv = format!("sku,name,unitPrice,currency\n{}", lines.collect::<String>());
    let plan = product_import::plan(&service.app, catalog, &csv).await;
    service.app.carry_out_import(&plan).await.unwrap();
    let counted = "SELECT reltuples::int FROM pg_class WHERE oid = 'product'::regclass";
    assert_eq!(ask(service.database().url(), counted), "100");
}

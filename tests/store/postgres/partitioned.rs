//! The schema with every table of teams partitioned by team: each has a partition for each remainder of a hash of
//! `team_id`. PostgreSQL requires of such a table what engines require that spread it over machines: every unique key
//! includes the team, and a row is found in one place only if the statement names its team.
//!
//! With `INVOICING_TEST_POSTGRES=partitioned`, every test of the suite runs on it.

use std::collections::{BTreeMap, BTreeSet};

use test_support::postgres::ask;
use tokio_postgres::{Client, NoTls};

use super::plans::plan;
use super::relay::past_any_pooler;
use super::upgrade::record::Statement;
use super::upgrade::said;

const MIGRATIONS: [&str; 17] = [
    include_str!("../../../src/postgres/migrations/0001_catalog.sql"),
    include_str!("../../../src/postgres/migrations/0002_mobile.sql"),
    include_str!("../../../src/postgres/migrations/0003_clustered.sql"),
    include_str!("../../../src/postgres/migrations/0004_grace_key.sql"),
    include_str!("../../../src/postgres/migrations/0005_people.sql"),
    include_str!("../../../src/postgres/migrations/0006_product_import.sql"),
    include_str!("../../../src/postgres/migrations/0007_invitation.sql"),
    include_str!("../../../src/postgres/migrations/0008_rotation_and_refusals.sql"),
    include_str!("../../../src/postgres/migrations/0009_mail.sql"),
    include_str!("../../../src/postgres/migrations/0010_passkey.sql"),
    include_str!("../../../src/postgres/migrations/0011_identity.sql"),
    include_str!("../../../src/postgres/migrations/0012_apps.sql"),
    include_str!("../../../src/postgres/migrations/0013_deactivated_and_deleted.sql"),
    include_str!("../../../src/postgres/migrations/0014_piles.sql"),
    include_str!("../../../src/postgres/migrations/0015_unused_codes.sql"),
    include_str!("../../../src/postgres/migrations/0016_session_generation.sql"),
    include_str!("../../../src/postgres/migrations/0017_alive.sql"),
];

const PARTITIONS: usize = 4;

/// Parts of the statements that query every partition of some table: they name no team, because none is known.
const ASK_ALL: [&str; 41] = [
    // Requests that were combined: one statement for several teams, each row of which is in one.
    "FROM unnest($1::uuid[]",
    // A request that brings only the key.
    "last_used_at, replaced_by FROM api_key WHERE digest",
    "(SELECT * FROM api_key WHERE digest = asked_digest",
    "FROM invitation WHERE digest",
    // The background task, for many teams.
    "DELETE FROM invitation WHERE (team_id, id) IN",
    "AS used (id, used_at, used_from)), locked AS (SELECT api_key",
    "DELETE FROM idempotency WHERE (team_id, mode, key) IN",
    "SELECT 1 FROM idempotency WHERE created_at",
    "UPDATE idempotency SET created_at",
    "DELETE FROM product_import WHERE (team_id, id) IN",
    // The deletion of a team, a step at a time: `store/product.rs` says why.
    "DELETE FROM product WHERE (team_id, mode, status, id) IN",
    "DELETE FROM api_key WHERE (team_id, id) IN",
    "DELETE FROM file WHERE (team_id, id) IN",
    "DELETE FROM folder WHERE (team_id, id) IN",
    "DELETE FROM share_link WHERE (team_id, id) IN",
    // A starting server, which knows no team.
    "SELECT 1 FROM api_key WHERE revoked_at",
    // The command line, which knows only an id, or wants everything.
    "UPDATE api_key SET revoked_at",
    "SELECT team_id FROM file WHERE id",
    "SELECT team_id FROM folder WHERE id",
    "SELECT team_id FROM share_link WHERE id = $1",
    "DELETE FROM member WHERE user_id",
    "DELETE FROM product_import WHERE user_id",
    "DELETE FROM invitation WHERE lower(email COLLATE \"C\") = lower($1",
    "DELETE FROM invitation WHERE lower(email COLLATE \"C\") = lower($2",
    "replaced_by FROM api_key WHERE id = $1",
    "last_used_from FROM api_key WHERE id = $1",
    "FROM api_key WHERE id > $1",
    "SELECT team_id, id, name, created_at FROM folder WHERE id",
    "SELECT team_id, id, name, folder_id, created_at FROM file WHERE id",
    "WHERE link.id = $1",
    "WHERE created_by = $1",
    "WHERE invited_by = $1",
    "WHERE user_id = $1 AND team_id > $2",
    "WITH of_user AS MATERIALIZED (SELECT team_id FROM member",
    "SELECT 1 FROM member WHERE user_id",
    "SELECT 1 FROM team WHERE id IN (SELECT team_id FROM member WHERE user_id",
    "WHERE user_id = $1 AND role = 'owner'",
    // The export of everything stored about a user.
    "FROM api_key WHERE created_by",
    "WHERE created_by = $1 AND link.id > $2",
    "SELECT team_id, mode, created_at FROM product_import WHERE user_id",
    "FROM invitation WHERE lower(email COLLATE \"C\") = lower($1 COLLATE \"C\") ORDER BY",
];

/// Whether the suite should run on it.
pub fn is_wanted() -> bool {
    std::env::var_os("INVOICING_TEST_POSTGRES").is_some_and(|way| way == "partitioned")
}

/// Makes the schema in an empty database.
pub fn lay_out(url: &str) {
    let mut schema: Vec<_> = MIGRATIONS.into_iter().flat_map(statements).collect();
    schema.push("CREATE TABLE schema_version (invoicing BIGINT NOT NULL)".to_owned());
    let version = MIGRATIONS.len();
    schema.push(format!("INSERT INTO schema_version VALUES ({version})"));
    // As on shards, the index of a partition is named after the whole index, plus a number.
    schema.push(
        "DO $$ DECLARE part RECORD; BEGIN \
             FOR part IN SELECT inhrelid::regclass AS name, parent.relname AS whole, \
                     row_number() OVER (PARTITION BY inhparent ORDER BY inhrelid) AS number \
                 FROM pg_inherits JOIN pg_class AS parent ON parent.oid = inhparent WHERE relkind = 'I' \
             LOOP \
                 EXECUTE format('ALTER INDEX %s RENAME TO %I', part.name, part.whole || '_10200' || part.number); \
             END LOOP; \
         END $$"
            .to_owned(),
    );
    ask(url, &schema.join(";\n"));
}

/// The statements of a migration, with the tables of teams partitioned.
fn statements(migration: &str) -> impl Iterator<Item = String> {
    let lines = migration
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let statements: Vec<_> = text.split(';').map(|one| one.trim().to_owned()).collect();
    statements.into_iter().flat_map(|statement| {
        let name = match statement.strip_prefix("CREATE TABLE ") {
            Some(table) if is_of_teams(table) => table.split(' ').next(),
            _ => return vec![statement],
        };
        let name = name.unwrap_or_default().to_owned();
        let parts = (0..PARTITIONS).map(|number| {
            let values = format!("FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number})");
            format!("CREATE TABLE {name}_{number} PARTITION OF {name} {values}")
        });
        let whole = format!("{statement} PARTITION BY HASH (team_id)");
        std::iter::once(whole).chain(parts).collect()
    })
}

/// Whether every row of a table belongs to a team.
fn is_of_teams(table: &str) -> bool {
    let mut columns = table.lines().map(str::trim_start);
    columns.any(|column| column.starts_with("team_id ") && column.contains("NOT NULL"))
}

/// How many partitions of one table the plan of a statement has, at most.
async fn partitions(client: &Client, statement: &Statement) -> usize {
    let plan = plan(client, statement).await;
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in &plan {
        // An alias may follow, which looks alike.
        let name = line
            .split_once(" on ")
            .and_then(|(_, rest)| rest.split(' ').next());
        if let Some((table, number)) = name.and_then(|name| name.rsplit_once('_'))
            && ["0", "1", "2", "3"].contains(&number)
        {
            found.entry(table).or_default().insert(number);
        }
    }
    found.values().map(BTreeSet::len).max().unwrap_or_default()
}

#[tokio::test]
async fn what_names_its_team_asks_one_partition() {
    let url = past_any_pooler();
    lay_out(&url);
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let (mut one, mut all) = (0, BTreeSet::new());
    for statement in said().await {
        // The others are BEGIN and COMMIT, and statements that are not queries.
        let is_no_query = ["ANALYZE", "LOCK"]
            .iter()
            .any(|it| statement.sql.starts_with(it));
        if statement.parameters.is_none() || is_no_query {
            continue;
        }
        match partitions(&client, &statement).await {
            0 => {}
            1 => one += 1,
            _ => _ = all.insert(statement.sql),
        }
    }
    assert!(one > 10, "{one}");
    let others = all
        .iter()
        .filter(|sql| !ASK_ALL.iter().any(|part| sql.contains(part)));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&String>::new());
    let gone = ASK_ALL
        .iter()
        .filter(|part| !all.iter().any(|sql| sql.contains(**part)));
    assert_eq!(gone.collect::<Vec<_>>(), Vec::<&&str>::new());
}

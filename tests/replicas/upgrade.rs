//! A newer release has migrated the database that replicas of this one use.

use std::process::Command;

use test_support::caller::Request;
use test_support::postgres::ask;

use crate::BINARY;
use crate::fleet::Fleet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_run_on_and_one_that_starts_again_is_refused() {
    let fleet = Fleet::start(&[]);
    let team = fleet.service.new_team().unwrap();
    // Before the upgrade, after which no command can make it.
    let key = team.live.to_string();
    ask(&fleet.database, "UPDATE schema_version SET invoicing = 99");

    let started = Command::new(BINARY)
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--database",
            &fleet.database,
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&started.stderr);
    assert_eq!(started.status.code(), Some(1), "{said}");
    assert!(
        said.contains("has schema version 99, and this program knows versions up to"),
        "{said}"
    );
    let version = ask(&fleet.database, "SELECT invoicing FROM schema_version");
    assert_eq!(version, "99");

    for replica in &fleet.replicas {
        assert_eq!(replica.operations("/readyz").unwrap().0, 200);
    }
    let list = Request::new("GET", "/api/v1/products").bearer(&key);
    fleet.service.caller.send(list).await.expect_status(200);
}

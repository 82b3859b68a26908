//! A rehearsal: the server is lost, and only a backup is left, which was made while the server was working.
//!
//! 1. Clients use the service, and settle. Others start to use it.
//! 2. Meanwhile a backup is made, and verified.
//! 3. The server is killed, and its database is no longer used.
//! 4. The backup is restored into another database, and a server started on it.
//! 5. Everything that was acknowledged before the backup began exists, and nothing is half done. For the clients of
//!    step 1 nothing has changed: their keys, sessions and idempotency keys go on.
//!
//! `INVOICING_TEST_DATABASE` sets the engine.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use test_support::given;
use test_support::load::{Clients, Operation, Running, check, list};
use test_support::service::Service;

use super::BINARY;

/// Runs a command that does not need the service's database. Returns its output.
fn run(arguments: &[&str]) -> Value {
    let output = Command::new(BINARY).args(arguments).arg("--json").output();
    let output = output.expect("the binary can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "invoicing {arguments:?}: {errors}");
    serde_json::from_slice(&output.stdout).expect("a command prints JSON")
}

/// What clients can know of a database that was copied between two moments: anything answered after the first of them
/// may have happened or not, and anything requested after the second has not.
fn known(operations: &[Operation], began: Duration, ended: Duration) -> Vec<Operation> {
    let asked = operations.iter().filter(|one| one.invoked < ended);
    let doubted = asked.cloned().map(|one| Operation {
        answer: one.answer.filter(|_| one.returned < began),
        ..one
    });
    doubted.collect()
}

/// How many changes must be acknowledged for the test to count.
const CHANGES: usize = 30;

/// Longer than that takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until enough changes were acknowledged since then.
async fn worked(running: &Running, since: Duration) {
    let enough = async {
        while running.history.acknowledged(0, since) < CHANGES {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let enough = tokio::time::timeout(TIMEOUT, enough).await;
    enough.expect("the clients get nothing done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_before_a_backup_is_there_after_kill_9_and_restore() {
    let mut service = given!(Service::own(BINARY, &[]));
    let folder = tempfile::TempDir::new().unwrap();
    let (team, other) = (given!(service.new_team()), given!(service.new_team()));
    let device = given!(service.device(&team).await);
    let seed = fastrand::u64(..);
    eprintln!("the seed of this test: {seed}");

    let replicas = [service.caller.clone()];
    let clients = Clients::new(&team.live, vec![device], seed).start(&replicas);
    worked(&clients, Duration::ZERO).await;
    let mut clients = clients.stop().await;
    clients.settle(&replicas).await;
    let running = Clients::new(&other.live, Vec::new(), seed).start(&replicas);
    worked(&running, Duration::ZERO).await;

    let began = running.history.now();
    let to = folder.path().to_str().unwrap();
    let create = ["backup", "create", "--to", to];
    let made = given!(tokio::task::block_in_place(|| service.command(&create)));
    let ended = running.history.now();
    worked(&running, ended).await;
    let restored = service.spare_database();
    tokio::task::block_in_place(|| {
        let backup = made["path"].as_str().unwrap();
        assert_eq!(run(&["backup", "verify", backup])["good"], true);
        service.kill();
        run(&["backup", "restore", backup, "--database", &restored]);
        service.crash_and_restart_on(&restored);
    });
    let others = running.stop().await;

    let replicas = [service.caller.clone()];
    let catalog = clients.settle(&replicas).await;
    let problems = check(&clients.history.operations(), &catalog);
    assert!(problems.is_empty(), "{problems:#?}");

    let operations = others.history.operations().clone();
    let before = known(&operations, began, ended);
    let mut problems = check(&before, &list(&replicas[0], &other.live).await);
    // These requests are not repeated.
    problems.retain(|problem| !problem.starts_with("in doubt for ever"));
    assert!(problems.is_empty(), "{problems:#?}");
}

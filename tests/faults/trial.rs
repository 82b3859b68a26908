//! The procedure for every fault: load before, during and after it, and a check of everything.

use std::sync::Arc;
use std::time::Duration;

use test_support::load::{Clients, History, check};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::sleep;

use crate::fleet::{Fleet, REPLICAS};

/// How soon after the repair every replica is working again. A request that hangs is given up after 5 seconds, and a
/// busy machine adds to that.
pub const RECOVERY: Duration = Duration::from_secs(15);

/// How many changes each replica acknowledges before the fault, and after it.
const BUSY: usize = 10;

/// Longer than anything takes whose duration is not checked.
pub const RECOVERY_TIMEOUT: Duration = Duration::from_secs(60);

/// Permits for running tests: two at a time, which mostly wait.
static TURNS: Semaphore = Semaphore::const_new(2);

/// The rounds of one fault.
pub struct Rounds {
    seeds: fastrand::Rng,
    left: u64,
    _turn: SemaphorePermit<'static>,
}

impl Rounds {
    /// Waits for the turn of this test.
    pub async fn begin() -> Self {
        // The semaphore is never closed.
        let turn = TURNS.acquire().await.unwrap();
        let seed = number("INVOICING_FAULT_SEED").unwrap_or_else(|| fastrand::u64(..));
        // Shown if the test fails.
        println!("INVOICING_FAULT_SEED={seed}");
        Self {
            seeds: fastrand::Rng::with_seed(seed),
            left: number("INVOICING_FAULT_ROUNDS").unwrap_or(1),
            _turn: turn,
        }
    }

    /// The seed of the next round, if there is one.
    pub fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        Some(self.seeds.u64(..))
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is no number")),
    )
}

/// Puts the fleet under load, lets `fault` happen and be repaired, and checks everything. Returns the history.
pub async fn endure(
    name: &str,
    fleet: &mut Fleet,
    seed: u64,
    fault: impl AsyncFnOnce(&mut Fleet, &History),
) -> Arc<History> {
    let clients = Clients::new(&fleet.team.live, fleet.devices.clone(), seed);
    let running = clients.start(&fleet.callers());
    let history = Arc::clone(&running.history);
    busy(&history, Duration::ZERO, RECOVERY_TIMEOUT).await;
    // At a different moment in every round.
    sleep(Duration::from_millis(seed % 500)).await;

    let began = history.now();
    fault(fleet, &history).await;
    let repaired = history.now();
    busy(&history, repaired, RECOVERY).await;
    let recovery = history.now() - repaired;
    let silence = history.longest_silence(began);

    let mut clients = running.stop().await;
    let catalog = clients.settle(&fleet.callers()).await;
    let problems = check(&history.operations(), &catalog);
    assert!(problems.is_empty(), "{problems:#?}");
    assert_nothing_is_left(fleet);
    println!(
        "{name}: all replicas at work {recovery:.1?} after the repair; no change for {silence:.1?} at most; {}",
        history.summary()
    );
    history
}

/// Waits until every replica has acknowledged some changes after `since`.
pub async fn busy(history: &History, since: Duration, patience: Duration) {
    are_busy(0..REPLICAS, history, since, patience).await;
}

/// Waits until every replica except `victim` has acknowledged some changes from now on: losing one does not hold up
/// the others.
pub async fn others_work_on(history: &History, victim: usize) {
    let others = (0..REPLICAS).filter(|replica| *replica != victim);
    are_busy(others, history, history.now(), RECOVERY).await;
}

async fn are_busy(
    replicas: impl Iterator<Item = usize> + Clone,
    history: &History,
    since: Duration,
    patience: Duration,
) {
    let end = history.now() + patience;
    loop {
        let counts = replicas.clone();
        let counts: Vec<_> = counts
            .map(|replica| history.acknowledged(replica, since))
            .collect();
        if counts.iter().all(|count| *count >= BUSY) {
            return;
        }
        let late = history.now() > end;
        assert!(!late, "changes acknowledged in {patience:.0?}: {counts:?}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// Step 4.
fn assert_nothing_is_left(fleet: &Fleet) {
    let deadlocks = "SELECT coalesce(sum(deadlocks), 0) FROM pg_stat_database";
    let log = "SELECT pg_read_file(current_setting('data_directory') || '/../log')";
    if fleet.ask(deadlocks) != "0" {
        panic!("deadlocks; the server says:\n{}", fleet.ask(log));
    }
    let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
        AND state <> 'idle' AND pid <> pg_backend_pid() AND state_change < now() - interval '1 second'";
    assert_eq!(fleet.ask(open), "0", "transactions that nobody ends");
}

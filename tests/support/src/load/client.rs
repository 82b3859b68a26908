//! A client that can use several replicas.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::history::{Asked, History, Operation};
use crate::caller::{Caller, Request};
use crate::response_validator::Received;

/// The pause of a client whose request was not answered.
const PAUSE: Duration = Duration::from_millis(20);

/// Asks one replica, and the next one if there is no answer. All of it is in the history.
#[derive(Debug)]
pub struct Client {
    /// The replica that it prefers.
    home: usize,
    /// The replica that it currently asks.
    replica: usize,
    callers: Vec<Caller>,
    history: Arc<History>,
    /// The source of random decisions.
    pub chance: fastrand::Rng,
}

impl Client {
    /// A client that prefers this replica.
    pub fn new(home: usize, history: Arc<History>, seed: u64) -> Self {
        Self {
            home,
            replica: home,
            callers: Vec::new(),
            history,
            chance: fastrand::Rng::with_seed(seed),
        }
    }

    /// Sets where the replicas are from now on.
    pub fn meet(&mut self, callers: &[Caller]) {
        self.callers = callers.to_vec();
    }

    /// Returns to the preferred replica.
    pub fn go_home(&mut self) {
        self.replica = self.home;
    }

    /// Returns true in one of `cases` cases, at random.
    pub fn one_in(&mut self, cases: u32) -> bool {
        self.chance.u32(..cases) == 0
    }

    /// Asks once. Returns `None` if the request is in doubt.
    pub async fn ask(&mut self, asked: &Asked, request: &Request) -> Option<Received> {
        let answer = self.ask_at(self.replica, asked, request).await;
        if answer.is_none() {
            self.replica += 1;
        }
        answer
    }

    /// Asks until there is an answer, or until told to stop.
    pub async fn insist(
        &mut self,
        asked: &Asked,
        request: &Request,
        stop: &AtomicBool,
    ) -> Option<Received> {
        while !stop.load(Ordering::Relaxed) {
            if let Some(answer) = self.ask(asked, request).await {
                return Some(answer);
            }
            tokio::time::sleep(PAUSE).await;
        }
        None
    }

    /// Asks two replicas at once.
    pub async fn ask_twice(&mut self, asked: &Asked, request: &Request) -> Option<Received> {
        let (one, other) = tokio::join!(
            self.ask_at(self.replica, asked, request),
            self.ask_at(self.replica + 1, asked, request)
        );
        one.or(other)
    }

    /// Asks a replica other than the one that answered last.
    pub async fn ask_elsewhere(&mut self, asked: &Asked, request: &Request) {
        self.ask_at(self.replica + 1, asked, request).await;
    }

    async fn ask_at(&self, replica: usize, asked: &Asked, request: &Request) -> Option<Received> {
        let replica = replica % self.callers.len();
        let invoked = self.history.now();
        let answer = self.callers[replica].try_send(request.clone()).await;
        let operation = Operation {
            asked: asked.clone(),
            replica,
            invoked,
            returned: self.history.now(),
            answer: answer.ok().map(|answer| answer.received),
        };
        let answer = operation
            .answer
            .clone()
            .filter(|_| !operation.is_in_doubt());
        self.history.record(operation);
        answer
    }
}

//! Clients that use the service from several places at once, and a check of what must hold whatever fails
//! meanwhile.
//!
//! 1. Writers create, change and archive products under idempotency keys, readers read what was
//!    acknowledged, apps refresh their tokens. Each prefers one replica, and goes to the next one when it
//!    gets no answer, or 503; some requests go to two replicas, at once or one after the other.
//! 2. Every request is in the [`History`], with its outcome.
//! 3. Afterwards they settle: requests in doubt are repeated, every key is used once more, every app
//!    refreshes twice, and the catalog is listed.
//! 4. [`check()`] compares the history and the catalog with what the interface promises. It is a function
//!    of these alone, and its tests feed it histories of a service that breaks its promises.

mod app;
mod check;
mod client;
mod history;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::caller::{Caller, Request};
use crate::service::Device;
use app::App;
use client::Client;
use writer::{Known, PRODUCTS, Reader, Writer};

pub use check::check;
pub use history::{Asked, History, Operation};

/// How many clients write, and how many read.
const WRITERS: usize = 6;
const READERS: usize = 3;

/// How long settling may take. Nothing fails by then.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The clients of one team.
#[derive(Debug)]
pub struct Clients {
    /// Their requests and answers, from the start.
    pub history: Arc<History>,
    api_key: String,
    writers: Vec<Writer>,
    readers: Vec<Reader>,
    apps: Vec<App>,
}

impl Clients {
    /// Clients with this API key, and an app for each device.
    pub fn new(api_key: &str, devices: Vec<Device>, seed: u64) -> Self {
        let history = Arc::new(History::default());
        let known = Known::default();
        let mut seeds = fastrand::Rng::with_seed(seed);
        let mut client = |number| Client::new(number, Arc::clone(&history), seeds.u64(..));
        Self {
            writers: (0..WRITERS)
                .map(|number| Writer::new(client(number), api_key, known.clone()))
                .collect(),
            readers: (0..READERS)
                .map(|number| Reader::new(client(number), api_key, known.clone()))
                .collect(),
            apps: (0..)
                .zip(devices)
                .map(|(number, device)| App::new(client(number), device))
                .collect(),
            api_key: api_key.to_owned(),
            history,
        }
    }

    /// Lets them use these replicas: steps 1 and 2.
    pub fn start(mut self, replicas: &[Caller]) -> Running {
        self.meet(replicas);
        let history = Arc::clone(&self.history);
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let clients = tokio::spawn(async move {
            let Self {
                writers,
                readers,
                apps,
                ..
            } = &mut self;
            tokio::join!(
                join_all(writers.iter_mut().map(|writer| writer.write(&stopping))),
                join_all(readers.iter_mut().map(|reader| reader.read(&stopping))),
                join_all(apps.iter_mut().map(|app| app.run(&stopping))),
            );
            self
        });
        Running {
            history,
            stop,
            clients,
        }
    }

    /// Step 3. Returns the catalog.
    pub async fn settle(&mut self, replicas: &[Caller]) -> Vec<Value> {
        self.meet(replicas);
        let stop = AtomicBool::new(false);
        let settling = async {
            tokio::join!(
                join_all(self.writers.iter_mut().map(|writer| writer.settle(&stop))),
                join_all(self.apps.iter_mut().map(|app| app.settle(&stop))),
            );
        };
        // Whatever is not settled by then stays in doubt, and the check reports it.
        let _ = tokio::time::timeout(SETTLE_TIMEOUT, settling).await;
        list(&replicas[0], &self.api_key).await
    }

    fn meet(&mut self, replicas: &[Caller]) {
        let writers = self.writers.iter_mut().map(|writer| &mut writer.client);
        let readers = self.readers.iter_mut().map(|reader| &mut reader.client);
        let apps = self.apps.iter_mut().map(|app| &mut app.client);
        for client in writers.chain(readers).chain(apps) {
            client.meet(replicas);
        }
    }
}

/// Clients that are using the service.
#[derive(Debug)]
pub struct Running {
    /// Their requests and answers so far.
    pub history: Arc<History>,
    stop: Arc<AtomicBool>,
    clients: JoinHandle<Clients>,
}

impl Running {
    /// Stops them, each after its last answer.
    ///
    /// # Panics
    ///
    /// When the published document does not list an answer, or an answer never comes.
    pub async fn stop(self) -> Clients {
        self.stop.store(true, Ordering::Relaxed);
        let clients = tokio::time::timeout(SETTLE_TIMEOUT, self.clients).await;
        clients
            .expect("a client waits for ever")
            .unwrap_or_else(|failure| std::panic::resume_unwind(failure.into_panic()))
    }
}

/// All products of a key's team, whatever their status.
///
/// # Panics
///
/// When they cannot be listed.
pub async fn list(caller: &Caller, api_key: &str) -> Vec<Value> {
    let mut products = Vec::new();
    let mut cursor = String::new();
    loop {
        let target = format!("{PRODUCTS}?status=all&limit=100{cursor}");
        let answer = caller
            .send(Request::new("GET", target).bearer(api_key))
            .await;
        let mut page = answer.expect_status(200).data();
        if let Value::Array(items) = page["data"].take() {
            products.extend(items);
        }
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&after={next}"),
            None => return products,
        }
    }
}

//! Clients that create and change products, and clients that read them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use uuid::Uuid;

use super::client::Client;
use super::history::Asked;
use crate::caller::Request;
use crate::response_validator::Received;

/// The path of the products.
pub const PRODUCTS: &str = "/api/v1/products";

/// A reader's pause between two requests, which leaves time to the writers.
const PACE: Duration = Duration::from_millis(5);

/// The products whose creation was acknowledged: name and id.
#[derive(Clone, Debug, Default)]
pub struct Known(Arc<Mutex<Vec<(String, String)>>>);

impl Known {
    fn add(&self, name: String, id: String) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push((name, id));
    }

    /// One of the newest.
    fn choose(&self, chance: &mut fastrand::Rng) -> Option<(String, String)> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = &known[known.len().saturating_sub(12)..];
        chance.choice(newest).cloned()
    }
}

/// Creates a product, changes it a few times, archives it or not, and goes on to the next one.
#[derive(Debug)]
pub struct Writer {
    pub client: Client,
    api_key: String,
    known: Known,
    /// What to ask again: everything with a key, and what is in doubt without one.
    unsettled: Vec<(Asked, Request)>,
}

impl Writer {
    pub fn new(client: Client, api_key: &str, known: Known) -> Self {
        Self {
            client,
            api_key: api_key.to_owned(),
            known,
            unsettled: Vec::new(),
        }
    }

    /// Writes until told to stop.
    pub async fn write(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            self.client.go_home();
            // A product whose fate is unknown is left alone.
            let _ = self.product(stop).await;
        }
    }

    async fn product(&mut self, stop: &AtomicBool) -> Option<()> {
        let name = Uuid::new_v4().to_string();
        let mut product = json!({ "name": name, "unitPrice": 1, "currency": "EUR" });
        // Those without one show a second execution as a second product.
        if self.client.one_in(2) {
            product["sku"] = name.as_str().into();
        }
        let create = Request::new("POST", PRODUCTS).json(&product);
        let created = self.change(&name, 1, create, stop).await?;
        let id = created.json()["data"]["id"].as_str()?.to_owned();
        let path = format!("{PRODUCTS}/{id}");
        self.known.add(name.clone(), id);

        let versions = self.client.chance.u64(2..5);
        for version in 2..=versions {
            let members =
                json!({ "unitPrice": version, "description": Uuid::new_v4().to_string() });
            let update = Request::new("PATCH", path.as_str()).json(&members);
            self.change(&name, version, update, stop).await?;
        }
        if self.client.one_in(2) {
            let archive = Request::new("DELETE", path);
            self.change(&name, versions + 1, archive, stop).await?;
        }
        Some(())
    }

    /// Makes a change, under a key unless it archives. Returns the answer if it is a success.
    async fn change(
        &mut self,
        product: &str,
        version: u64,
        request: Request,
        stop: &AtomicBool,
    ) -> Option<Received> {
        let mut request = request.bearer(&self.api_key);
        let key = (request.method_name() != "DELETE").then(|| Uuid::new_v4().to_string());
        if let Some(key) = &key {
            request = request.header("idempotency-key", key);
        }
        let keyed = key.is_some();
        let product = product.to_owned();
        let asked = Asked::Change {
            product,
            version,
            key,
        };
        let mut answer = None;
        if keyed && self.client.one_in(8) {
            answer = self.client.ask_twice(&asked, &request).await;
        }
        if answer.is_none() && self.client.one_in(4) {
            // In doubt, it stays so until the end.
            answer = self.client.ask(&asked, &request).await;
        } else if answer.is_none() {
            answer = self.client.insist(&asked, &request, stop).await;
        }
        if keyed && answer.is_some() && self.client.one_in(8) {
            self.client.ask_elsewhere(&asked, &request).await;
        }
        if keyed || answer.is_none() {
            self.unsettled.push((asked, request));
        }
        answer.filter(|answer| answer.status < 300 || !keyed)
    }

    /// Repeats everything that is to be asked again, until there is an answer.
    pub async fn settle(&mut self, stop: &AtomicBool) {
        for (asked, request) in std::mem::take(&mut self.unsettled) {
            self.client.insist(&asked, &request, stop).await;
        }
    }
}

/// Reads products while they are being made.
#[derive(Debug)]
pub struct Reader {
    pub client: Client,
    api_key: String,
    known: Known,
}

impl Reader {
    pub fn new(client: Client, api_key: &str, known: Known) -> Self {
        Self {
            client,
            api_key: api_key.to_owned(),
            known,
        }
    }

    /// Reads until told to stop.
    pub async fn read(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            self.client.go_home();
            if let Some((product, id)) = self.known.choose(&mut self.client.chance) {
                let read = Request::new("GET", format!("{PRODUCTS}/{id}")).bearer(&self.api_key);
                self.client.ask(&Asked::Read { product }, &read).await;
            }
            tokio::time::sleep(PACE).await;
        }
    }
}

//! Clients that write until nobody answers any more.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use test_support::caller::{Caller, Request};
use test_support::judge::Received;
use test_support::service::Device;
use uuid::Uuid;

pub const PRODUCTS: &str = "/api/v1/products";

/// A request that changes something.
#[derive(Clone, Debug)]
pub struct Change {
    pub request: Request,
    /// The sku that the product gets, by which it is found again.
    pub sku: String,
    /// Whether the same request may be sent again: not when it archives, which takes no key.
    pub keyed: bool,
}

/// A client that makes products, each of which it changes, and archives every third.
#[derive(Debug)]
pub struct Writer {
    key: String,
    /// What was asked and answered, in order.
    pub acknowledged: Vec<(Change, Received)>,
    /// What was asked last, and not answered.
    pub in_doubt: Option<Change>,
}

impl Writer {
    pub fn new(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            acknowledged: Vec::new(),
            in_doubt: None,
        }
    }

    /// Writes until a request is not answered.
    pub async fn write(&mut self, caller: &Caller, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let sku = Uuid::new_v4().to_string();
            let product = json!({ "name": "crash", "unitPrice": 1, "currency": "EUR", "sku": sku });
            let create = self.keyed("POST", PRODUCTS.to_owned(), &sku, &product);
            let Some(created) = self.ask(caller, create).await else {
                return;
            };
            let id = created.json()["data"]["id"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let path = format!("{PRODUCTS}/{id}");
            let change = json!({ "unitPrice": 2, "description": sku });
            let update = self.keyed("PATCH", path.clone(), &sku, &change);
            if self.ask(caller, update).await.is_none() {
                return;
            }
            if self.acknowledged.len().is_multiple_of(3) {
                let request = Request::new("DELETE", path).bearer(&self.key);
                let archive = Change {
                    request,
                    sku,
                    keyed: false,
                };
                if self.ask(caller, archive).await.is_none() {
                    return;
                }
            }
        }
    }

    fn keyed(&self, method: &str, target: String, sku: &str, body: &Value) -> Change {
        let request = Request::new(method, target).bearer(&self.key).json(body);
        Change {
            request: request.header("idempotency-key", Uuid::new_v4().to_string()),
            sku: sku.to_owned(),
            keyed: true,
        }
    }

    async fn ask(&mut self, caller: &Caller, change: Change) -> Option<Received> {
        self.in_doubt = Some(change.clone());
        let received = caller.send_unjudged(change.request.clone()).await.ok()?;
        assert!(received.status < 300, "{:?} {}", change, received.json());
        self.in_doubt = None;
        self.acknowledged.push((change, received.clone()));
        Some(received)
    }
}

/// An app that refreshes its tokens again and again.
#[derive(Debug)]
pub struct Refresher {
    device: Device,
    /// The refresh token that the app would send next.
    token: String,
}

impl Refresher {
    pub fn new(device: Device) -> Self {
        let token = device.refresh_token.clone();
        Self { device, token }
    }

    /// Refreshes until a request is not answered.
    pub async fn refresh(&mut self, caller: &Caller, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let Ok(received) = caller.send_unjudged(self.request()).await else {
                return;
            };
            assert_eq!(received.status, 200, "{}", received.json());
            self.take(&received.json());
        }
    }

    /// The session goes on with the token that the app has, whether its last answer was lost or not.
    pub async fn goes_on(&mut self, caller: &Caller) {
        for _ in 0..2 {
            let answer = caller.send(self.request()).await.expect_status(200);
            self.take(&answer.json());
        }
    }

    fn request(&self) -> Request {
        let grant = self.device.refresh_grant(&self.token);
        Request::new("POST", "/api/auth/mobile/token").json(&grant)
    }

    fn take(&mut self, tokens: &Value) {
        let token = tokens["refresh_token"].as_str();
        token
            .expect("tokens have a refresh token")
            .clone_into(&mut self.token);
    }
}

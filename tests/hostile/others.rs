//! Well-behaved callers during an attack: their calls must go on as ever.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::caller::{Answer, Caller, Request};
use test_support::deployment::Skip;
use test_support::service::Service;
use tokio::time::interval;

const PRODUCTS: &str = "/api/v1/products";

/// How long one of their calls may take.
const LIMIT: Duration = Duration::from_secs(1);

/// A team that is unrelated to the attacker, and one product.
pub struct Others {
    caller: Caller,
    key: String,
    product: String,
}

impl Others {
    /// A separate team on this service.
    pub async fn of(service: &Service) -> Result<Self, Skip> {
        let mut others = Self {
            caller: service.caller.clone(),
            key: service.new_team()?.live.to_string(),
            product: String::new(),
        };
        others.product = others.create().await;
        Ok(others)
    }

    /// The same, but their calls take another route, such as through a proxy.
    pub fn through(self, caller: Caller) -> Self {
        Self { caller, ..self }
    }

    /// Forty gets a second for this long: each is answered in time. Returns how long half of them took at most.
    pub async fn get_for(&self, duration: Duration) -> Duration {
        self.call_for(&self.product, 40, duration).await
    }

    /// Ten lists a second for this long: each is answered in time. Returns how long half of them took at most.
    pub async fn list_for(&self, duration: Duration) -> Duration {
        self.call_for(PRODUCTS, 10, duration).await
    }

    /// One list.
    pub async fn list(&self) {
        self.call("GET", PRODUCTS, None).await.expect_status(200);
    }

    async fn call_for(&self, path: &str, per_second: u32, duration: Duration) -> Duration {
        let (begun, mut next) = (
            Instant::now(),
            interval(Duration::from_secs(1) / per_second),
        );
        let mut took = Vec::new();
        while begun.elapsed() < duration {
            next.tick().await;
            let sent = Instant::now();
            self.call("GET", path, None).await.expect_status(200);
            in_time(
                sent,
                &format!("GET {path}, {:?} after the first,", sent - begun),
            );
            took.push(sent.elapsed());
        }
        took.sort();
        took[took.len() / 2]
    }

    /// Several rounds of everything that a key can do: each call is answered in time.
    pub async fn work(&self, rounds: u32) {
        for round in 0..rounds {
            let begun = Instant::now();
            self.call("GET", PRODUCTS, None).await.expect_status(200);
            in_time(begun, &format!("list {round} of {rounds}"));
            let begun = Instant::now();
            let path = self.create().await;
            in_time(begun, &format!("create {round} of {rounds}"));
            let change = json!({ "name": "changed" });
            for (method, body, status) in [
                ("GET", None, 200),
                ("PATCH", Some(&change), 200),
                ("DELETE", None, 204),
            ] {
                let begun = Instant::now();
                self.call(method, &path, body).await.expect_status(status);
                in_time(begun, &format!("{method} {round} of {rounds}"));
            }
        }
    }

    /// Creates a product, and returns its path.
    async fn create(&self) -> String {
        let product = json!({ "name": "of others", "unitPrice": 1, "currency": "EUR" });
        let created = self.call("POST", PRODUCTS, Some(&product)).await;
        let id = created.expect_status(201).data()["id"].take();
        format!("{PRODUCTS}/{}", id.as_str().expect("a product has an id"))
    }

    async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let request = Request::new(method, path).bearer(&self.key);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        self.caller.send(request).await
    }
}

#[track_caller]
fn in_time(begun: Instant, what: &str) {
    let took = begun.elapsed();
    assert!(
        took <= LIMIT,
        "{what} took {took:?}, while somebody attacked"
    );
}

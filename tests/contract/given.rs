//! The starting point of a test: a service, a team, and a valid request for any operation.

use serde_json::{Value, json};
use test_support::caller::{Answer, Request};
use test_support::deployment::Skip;
use test_support::service::{Device, Service, Team};

use crate::BINARY;

/// A service with a team in it.
pub struct Given {
    pub service: Service,
    pub team: Team,
}

/// A service with a team.
pub fn given() -> Result<Given, Skip> {
    let service = Service::find(BINARY);
    let team = service.team()?;
    Ok(Given { service, team })
}

/// The test's own server with these settings, and a team.
pub fn given_own(settings: &[(&str, &str)]) -> Result<Given, Skip> {
    let service = Service::own(BINARY, settings)?;
    let team = service.team()?;
    Ok(Given { service, team })
}

/// A text that no other test uses.
pub fn unique(prefix: &str) -> String {
    format!("{prefix}-{}", uuid::Uuid::new_v4().simple())
}

/// The smallest product.
pub fn product() -> Value {
    json!({ "name": "contract test", "unitPrice": 120.5, "currency": "EUR" })
}

/// The collection's path.
pub const PRODUCTS: &str = "/api/v1/products";

/// The path of the token endpoint.
pub const TOKEN: &str = "/api/auth/mobile/token";

impl Given {
    /// Sends a request.
    pub async fn send(&self, request: Request) -> Answer {
        self.service.caller.send(request).await
    }

    /// A request with the team's live key.
    pub fn live(&self, method: &str, target: impl Into<String>) -> Request {
        Request::new(method, target).bearer(&self.team.live)
    }

    /// Creates a product with the team's live key, and returns it.
    pub async fn created(&self, product: &Value) -> Value {
        let answer = self.send(self.live("POST", PRODUCTS).json(product)).await;
        answer.expect_status(201).data()
    }

    /// The path of a new product.
    pub async fn path_of_new(&self) -> String {
        path(&self.created(&product()).await)
    }

    /// A signed-in device of a member of the team.
    pub async fn device(&self) -> Result<Device, Skip> {
        self.service.device(&self.team).await
    }

    /// A valid request for an operation, which succeeds.
    ///
    /// A new operation needs a line here; until it has one, the tests that try every operation fail.
    pub async fn request(&self, operation: &str) -> Result<Request, Skip> {
        let request = match operation {
            "list_products" => self.live("GET", PRODUCTS),
            "create_product" => self.live("POST", PRODUCTS).json(&product()),
            "get_product" => self.live("GET", self.path_of_new().await),
            "update_product" => {
                let request = self.live("PATCH", self.path_of_new().await);
                request.json(&json!({ "name": "contract test, changed" }))
            }
            "archive_product" => self.live("DELETE", self.path_of_new().await),
            "exchange_token" => {
                let device = self.device().await?;
                let code = self.service.authorization_code(&device)?;
                Request::new("POST", TOKEN).json(&device.code_grant(&code))
            }
            "list_links" => {
                let device = self.device().await?;
                Request::new("GET", device.links())
                    .bearer(&device.access_token)
                    .header("x-team-id", &device.team_id)
            }
            other => panic!("these tests know no valid request for {other}"),
        };
        Ok(request)
    }
}

/// The path of a product.
pub fn path(product: &Value) -> String {
    let id = product["id"].as_str().expect("a product has an id");
    format!("{PRODUCTS}/{id}")
}

/// When a product was last changed. Timestamps sort by their text.
pub fn updated_at(product: &Value) -> &str {
    product["updatedAt"].as_str().expect("a product has this")
}

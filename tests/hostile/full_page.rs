//! The longest possible page of products, which a small request asks for.

use serde_json::json;
use test_support::caller::Request;
use test_support::deployment::Skip;
use test_support::service::{Service, Team};

use crate::BINARY;

/// A server with these settings, and a team that has filled a page to its limit.
pub async fn start(settings: &[(&str, &str)]) -> Result<(Service, Team), Skip> {
    let service = Service::own(BINARY, settings)?;
    let team = service.team()?;
    // Six bytes for each character, and the rest of the page.
    let product = json!({
        "name": "\u{1}".repeat(255),
        "description": "\u{1}".repeat(2000),
        "unitPrice": 1,
        "currency": "EUR",
    });
    for _ in 0..100 {
        let create = Request::new("POST", "/api/v1/products").bearer(&team.live);
        let created = service.caller.send(create.json(&product)).await;
        created.expect_status(201);
    }
    Ok((service, team))
}

//! How each listed answer is produced. Every scenario starts from a valid request for its operation
//! and spoils one thing.

use serde_json::{Value, json};
use test_support::caller::{Answer, Request};
use test_support::deployment::Skip;
use uuid::Uuid;

use crate::given::{given, given_own, product, unique};

mod broken;

pub use broken::{broken_database, lock_writes, locked_database};

/// The valid request itself.
pub async fn success(operation: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let request = given.request(operation).await?;
    Ok(given.send(request).await)
}

/// A query parameter that no operation has.
pub async fn unknown_parameter(operation: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let request = given.request(operation).await?;
    let target = format!("{}?surprise=1", request.path());
    Ok(given.send(request.target(target)).await)
}

/// A body without its required members.
pub async fn empty_object(operation: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let request = given.request(operation).await?;
    Ok(given.send(request.json(&json!({}))).await)
}

/// No `Authorization`.
pub async fn no_credential(operation: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let request = given.request(operation).await?;
    Ok(given.send(request.without_header("authorization")).await)
}

/// A key that may only read.
pub async fn read_only_key(operation: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let request = given.request(operation).await?;
    Ok(given.send(request.bearer(&given.team.live_read_only)).await)
}

/// A team that the person is not a member of.
pub async fn other_team(_: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let device = given.device().await?;
    let request = Request::new("GET", device.links())
        .bearer(&device.access_token)
        .header("x-team-id", device.other_team_id.as_str());
    Ok(given.send(request).await)
}

/// An id that does not exist, in place of the one in the path.
pub async fn nothing_there(operation: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let request = given.request(operation).await?;
    let segments = request
        .path()
        .split('/')
        .map(|segment| match Uuid::try_parse(segment) {
            Ok(_) => Uuid::new_v4().to_string(),
            Err(_) => segment.to_owned(),
        });
    let target = segments.collect::<Vec<_>>().join("/");
    Ok(given.send(request.target(target)).await)
}

/// A body that stops after its first byte.
pub async fn slow_body(operation: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let request = given.request(operation).await?;
    Ok(given.send(request.stalled("{", 100)).await)
}

/// A sku that another active product has.
pub async fn taken_sku(operation: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let sku = unique("taken");
    let mut taken = product();
    taken["sku"] = Value::String(sku.clone());
    given.created(&taken).await;
    let body = match operation {
        "create_product" => taken,
        _ => json!({ "sku": sku }),
    };
    let request = given.request(operation).await?;
    Ok(given.send(request.json(&body)).await)
}

/// The second of two requests to archive.
pub async fn archived_before(operation: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let request = given.request(operation).await?;
    given.send(request.clone()).await.expect_status(204);
    Ok(given.send(request).await)
}

/// One byte more than 64 KiB, all of it white space, so that nothing but its size is wrong.
pub async fn large_body(operation: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let request = given.request(operation).await?;
    Ok(given.send(request.text(" ".repeat(64 * 1024 + 1))).await)
}

/// A form in place of JSON.
pub async fn form(operation: &str) -> Result<Answer, Skip> {
    let given = given()?;
    let request = given.request(operation).await?;
    let media = "application/x-www-form-urlencoded";
    let request = request
        .text("name=Consulting")
        .without_header("content-type");
    Ok(given.send(request.header("content-type", media)).await)
}

/// One request more than a very small quota allows.
pub async fn too_many(operation: &str) -> Result<Answer, Skip> {
    let given = given_own(&[
        ("INVOICING_RATE_LIMIT_PER_SECOND", "1"),
        ("INVOICING_RATE_LIMIT_BURST", "3"),
        ("INVOICING_TOKEN_RATE_LIMIT_PER_SECOND", "1"),
        ("INVOICING_TOKEN_RATE_LIMIT_BURST", "3"),
    ])?;
    let request = given.request(operation).await?;
    for _ in 0..20 {
        let answer = given.send(request.clone()).await;
        if answer.status() == 429 {
            return Ok(answer);
        }
    }
    panic!("{operation} answers 20 requests at once under a quota of 3")
}

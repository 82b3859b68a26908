//! Products as served, and requests for pages of them.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::ApiError;

/// A product as served. Numbers keep their original spelling: exact.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Product {
    pub id: Uuid,
    pub name: String,
    pub unit_price: Box<RawValue>,
    pub currency: String,
    pub description: Option<String>,
    pub sku: Option<String>,
    pub tax_rate: Option<Box<RawValue>>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub product_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit_of_measure: Option<String>,
    pub status: String,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Deserialize)]
#[serde(default)]
pub struct PageQuery {
    pub status: String,
    pub limit: u32,
    pub after: Option<String>,
}

impl Default for PageQuery {
    fn default() -> Self {
        Self {
            status: "active".to_owned(),
            limit: 20,
            after: None,
        }
    }
}

impl PageQuery {
    /// The id before which the page starts, after checking the query.
    pub fn start(&self) -> Result<Uuid, ApiError> {
        if !(1..=100).contains(&self.limit) {
            return Err(ApiError::InvalidQuery("limit is 1 to 100"));
        }
        self.after.as_deref().map_or(Ok(Uuid::max()), read_cursor)
    }

    /// The page, from one product more than fits if there is a next one.
    pub fn page(&self, mut data: Vec<Product>) -> Page<Product> {
        let limit = self.limit as usize;
        let has_more = data.len() > limit;
        data.truncate(limit);
        let next_cursor = data
            .last()
            .filter(|_| has_more)
            .map(|last| write_cursor(last.id));
        Page {
            data,
            has_more,
            next_cursor,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    pub data: Vec<T>,
    pub has_more: bool,
    pub next_cursor: Option<String>,
}

#[derive(Serialize)]
pub struct Data<T> {
    pub data: T,
}

/// A time as served.
pub fn time(millis: i64) -> String {
    let time = DateTime::from_timestamp_millis(millis).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn write_cursor(last: Uuid) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(last.as_bytes())
}

fn read_cursor(text: &str) -> Result<Uuid, ApiError> {
    BASE64_URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| Uuid::from_slice(&bytes).ok())
        .ok_or(ApiError::InvalidQuery("after is no cursor"))
}

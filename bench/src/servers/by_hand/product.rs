//! Products that are read, written by hand.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use chrono::{DateTime, SecondsFormat};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::database::{Caller, Database, find_api_key};
use super::{ApiError, bearer};

/// A product as it is answered. Numbers are kept as they were written: exact.
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
    status: String,
    limit: u32,
    after: Option<String>,
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

pub async fn get_product(
    State(database): State<Database>,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let key = bearer(&headers)?;
    let product = database
        .read(move |connection| {
            let caller = find_api_key(connection, key)?;
            find_product(connection, &caller, id)
        })
        .await?;
    Ok(Json(Data { data: product }).into_response())
}

/// The product of that id in the caller's catalog.
pub fn find_product(
    connection: &Connection,
    caller: &Caller,
    id: Uuid,
) -> Result<Product, ApiError> {
    connection
        .prepare_cached("SELECT * FROM product WHERE team_id = ?1 AND mode = ?2 AND id = ?3")?
        .query_row(
            params![caller.team_id.as_bytes(), caller.mode, id.as_bytes()],
            read_product,
        )
        .optional()?
        .ok_or(ApiError::ProductNotFound)
}

pub async fn list_products(
    State(database): State<Database>,
    Query(query): Query<PageQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let key = bearer(&headers)?;
    if !(1..=100).contains(&query.limit) {
        return Err(ApiError::InvalidQuery("limit is 1 to 100"));
    }
    let after = query
        .after
        .as_deref()
        .map_or(Ok(Uuid::max()), read_cursor)?;
    let page = database
        .read(move |connection| {
            let caller = find_api_key(connection, key)?;
            find_page(connection, &caller, &query, after)
        })
        .await?;
    Ok(Json(Data { data: page }).into_response())
}

fn find_page(
    connection: &Connection,
    caller: &Caller,
    query: &PageQuery,
    after: Uuid,
) -> Result<Page<Product>, ApiError> {
    let limit = query.limit as usize;
    let mut select = connection.prepare_cached(
        "SELECT * FROM product WHERE team_id = ?1 AND mode = ?2 AND status = ?3 AND id < ?4
         ORDER BY id DESC LIMIT ?5",
    )?;
    // One more than the page holds tells whether there is a next one.
    let parameters = params![
        caller.team_id.as_bytes(),
        caller.mode,
        query.status,
        after.as_bytes(),
        query.limit + 1
    ];
    let products = select.query_map(parameters, read_product)?;
    let mut data = products.collect::<rusqlite::Result<Vec<_>>>()?;
    let has_more = data.len() > limit;
    data.truncate(limit);
    let next_cursor = data
        .last()
        .filter(|_| has_more)
        .map(|last| write_cursor(last.id));
    Ok(Page {
        data,
        has_more,
        next_cursor,
    })
}

fn read_product(row: &Row<'_>) -> rusqlite::Result<Product> {
    Ok(Product {
        id: Uuid::from_bytes(row.get("id")?),
        name: row.get("name")?,
        unit_price: number(row.get("unit_price")?)?,
        currency: row.get("currency")?,
        description: row.get("description")?,
        sku: row.get("sku")?,
        tax_rate: row
            .get::<_, Option<String>>("tax_rate")?
            .map(number)
            .transpose()?,
        product_type: row.get("type")?,
        unit_of_measure: row.get("unit_of_measure")?,
        status: row.get("status")?,
        created_at: time(row.get("created_at")?),
        updated_at: time(row.get("updated_at")?),
    })
}

fn number(text: String) -> rusqlite::Result<Box<RawValue>> {
    RawValue::from_string(text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error.into()))
}

/// A time as it is answered.
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

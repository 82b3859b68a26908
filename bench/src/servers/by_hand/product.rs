//! Products, written by hand.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use chrono::{DateTime, SecondsFormat};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::database::{Caller, Database, digest, find_api_key, internal, now};
use super::{Refusal, bearer};

/// A product as it is answered. Numbers are kept as they were written: exact.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Product {
    id: Uuid,
    name: String,
    unit_price: Box<RawValue>,
    currency: String,
    description: Option<String>,
    sku: Option<String>,
    tax_rate: Option<Box<RawValue>>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    product_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit_of_measure: Option<String>,
    status: String,
    created_at: String,
    updated_at: String,
}

/// A product that is to be created.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewProduct {
    name: String,
    unit_price: Box<RawValue>,
    currency: String,
    description: Option<String>,
    sku: Option<String>,
    tax_rate: Option<Box<RawValue>>,
    #[serde(rename = "type")]
    product_type: Option<String>,
    unit_of_measure: Option<String>,
}

impl NewProduct {
    fn check(&self) -> Result<(), Refusal> {
        let longer = |text: &Option<String>, most| {
            text.as_ref()
                .is_some_and(|text| text.chars().count() > most)
        };
        let outside = |number: &RawValue, most: f64| {
            !number
                .get()
                .parse()
                .is_ok_and(|number| (0.0..=most).contains(&number))
        };
        match () {
            () if self.name.is_empty() || self.name.chars().count() > 255 => {
                Err(Refusal::InvalidBody("name has 1 to 255 characters"))
            }
            () if outside(&self.unit_price, 1e12) => {
                Err(Refusal::InvalidBody("unitPrice is 0 to 1000000000000"))
            }
            () if self.currency.len() != 3 => {
                Err(Refusal::InvalidBody("currency has 3 characters"))
            }
            () if longer(&self.description, 2000) || longer(&self.sku, 100) => {
                Err(Refusal::InvalidBody("description or sku is too long"))
            }
            () if self
                .tax_rate
                .as_ref()
                .is_some_and(|rate| outside(rate, 100.0)) =>
            {
                Err(Refusal::InvalidBody("taxRate is 0 to 100"))
            }
            () if longer(&self.product_type, 50) || longer(&self.unit_of_measure, 50) => {
                Err(Refusal::InvalidBody("type or unitOfMeasure is too long"))
            }
            () => Ok(()),
        }
    }
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
struct Page {
    data: Vec<Product>,
    has_more: bool,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct Data<T> {
    data: T,
}

pub async fn get_product(
    State(database): State<Database>,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let key = bearer(&headers)?;
    let product = database
        .read(move |connection| {
            let caller = find_api_key(connection, key)?;
            connection
                .prepare_cached(
                    "SELECT * FROM product WHERE team_id = ?1 AND mode = ?2 AND id = ?3",
                )?
                .query_row(
                    params![caller.team_id.as_bytes(), caller.mode, id.as_bytes()],
                    read_product,
                )
                .optional()?
                .ok_or(Refusal::ProductNotFound)
        })
        .await?;
    Ok(Json(Data { data: product }).into_response())
}

pub async fn list_products(
    State(database): State<Database>,
    Query(query): Query<PageQuery>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let key = bearer(&headers)?;
    if !(1..=100).contains(&query.limit) {
        return Err(Refusal::InvalidQuery("limit is 1 to 100"));
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
) -> Result<Page, Refusal> {
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

pub async fn create_product(
    State(database): State<Database>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let key = bearer(&headers)?;
    let new: NewProduct =
        serde_json::from_slice(&body).map_err(|_| Refusal::InvalidBody("not what is expected"))?;
    new.check()?;
    let idempotency_key = headers
        .get("idempotency-key")
        .and_then(|key| key.to_str().ok());
    let idempotency_key = idempotency_key.map(str::to_owned);
    let request = digest([b"POST".as_slice(), b"/api/v1/products", &body]);
    let (answer, id, replayed) = database
        .write(move |transaction| {
            let caller = find_api_key(transaction, key)?;
            if !caller.may_write {
                return Err(Refusal::ScopeInsufficient);
            }
            if let Some(key) = &idempotency_key
                && let Some((answer, id)) = find_record(transaction, &caller, key, &request)?
            {
                return Ok((answer, id, true));
            }
            let product = insert_product(transaction, &caller, new)?;
            let answer = serde_json::to_string(&Data { data: &product }).map_err(internal)?;
            if let Some(key) = &idempotency_key {
                transaction
                    .prepare_cached("INSERT INTO idempotency VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                    .execute(params![
                        caller.team_id.as_bytes(),
                        caller.mode,
                        key,
                        request,
                        answer,
                        now()
                    ])?;
            }
            Ok((answer, product.id.to_string(), false))
        })
        .await?;
    let mut response = (StatusCode::CREATED, answer).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    let location = format!("/api/v1/products/{id}");
    headers.insert(header::LOCATION, location.try_into().map_err(internal)?);
    if replayed {
        let name = HeaderName::from_static("idempotency-replayed");
        headers.insert(name, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// The answer that the first request under a key got, and the id in it.
fn find_record(
    connection: &Connection,
    caller: &Caller,
    key: &str,
    request: &[u8; 32],
) -> Result<Option<(String, String)>, Refusal> {
    let record: Option<([u8; 32], String)> = connection
        .prepare_cached(
            "SELECT request, answer FROM idempotency WHERE team_id = ?1 AND mode = ?2 AND key = ?3",
        )?
        .query_row(
            params![caller.team_id.as_bytes(), caller.mode, key],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    match record {
        None => Ok(None),
        Some((first, _)) if first != *request => Err(Refusal::IdempotencyKeyReused),
        Some((_, answer)) => {
            let body: serde_json::Value = serde_json::from_str(&answer).map_err(internal)?;
            let id = body["data"]["id"].as_str().unwrap_or_default().to_owned();
            Ok(Some((answer, id)))
        }
    }
}

fn insert_product(
    connection: &Connection,
    caller: &Caller,
    new: NewProduct,
) -> Result<Product, Refusal> {
    let (id, created_at) = (Uuid::now_v7(), now());
    connection
        .prepare_cached(
            "INSERT INTO product VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'active', ?12, ?12)",
        )?
        .execute(params![
            caller.team_id.as_bytes(),
            caller.mode,
            id.as_bytes(),
            new.name,
            new.unit_price.get(),
            new.currency,
            new.description,
            new.sku,
            new.tax_rate.as_ref().map(|rate| rate.get()),
            new.product_type,
            new.unit_of_measure,
            created_at,
        ])?;
    Ok(Product {
        id,
        name: new.name,
        unit_price: new.unit_price,
        currency: new.currency,
        description: new.description,
        sku: new.sku,
        tax_rate: new.tax_rate,
        product_type: new.product_type,
        unit_of_measure: new.unit_of_measure,
        status: "active".to_owned(),
        created_at: time(created_at),
        updated_at: time(created_at),
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

fn time(millis: i64) -> String {
    let time = DateTime::from_timestamp_millis(millis).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn write_cursor(last: Uuid) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(last.as_bytes())
}

fn read_cursor(text: &str) -> Result<Uuid, Refusal> {
    BASE64_URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| Uuid::from_slice(&bytes).ok())
        .ok_or(Refusal::InvalidQuery("after is no cursor"))
}

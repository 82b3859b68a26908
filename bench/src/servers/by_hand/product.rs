//! Reading products, written by hand.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::database::{Database, find_api_key};
use crate::servers::by_hand_api::product::{Data, Page, PageQuery, Product, time};
use crate::servers::by_hand_api::{ApiError, Caller, bearer};

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

/// The product with this id in the caller's catalog.
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
    let after = query.start()?;
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
    let mut select = connection.prepare_cached(
        "SELECT * FROM product WHERE team_id = ?1 AND mode = ?2 AND status = ?3 AND id < ?4
         ORDER BY id DESC LIMIT ?5",
    )?;
    // One more than fits on the page shows whether there is a next one.
    let parameters = params![
        caller.team_id.as_bytes(),
        caller.mode,
        query.status,
        after.as_bytes(),
        query.limit + 1
    ];
    let products = select.query_map(parameters, read_product)?;
    Ok(query.page(products.collect::<rusqlite::Result<_>>()?))
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

//! Reading products.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use deadpool_postgres::GenericClient;
use serde_json::value::RawValue;
use tokio_postgres::Row;
use uuid::Uuid;

use super::database::{Database, find_api_key, query, query_opt};
use crate::servers::by_hand_api::product::{Data, Page, PageQuery, Product, time};
use crate::servers::by_hand_api::{ApiError, Caller, bearer, internal};

pub async fn get_product(
    State(database): State<Database>,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let key = bearer(&headers)?;
    let connection = database.connection().await?;
    let caller = find_api_key(&connection, key).await?;
    let product = query_opt(
        &connection,
        "SELECT * FROM product WHERE team_id = $1 AND mode = $2 AND id = $3",
        &[&caller.team_id, &caller.mode, &id],
    )
    .await?
    .ok_or(ApiError::ProductNotFound)?;
    let product = read_product(&product)?;
    Ok(Json(Data { data: product }).into_response())
}

pub async fn list_products(
    State(database): State<Database>,
    Query(query): Query<PageQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let key = bearer(&headers)?;
    let after = query.start()?;
    let connection = database.connection().await?;
    let caller = find_api_key(&connection, key).await?;
    let page = find_page(&connection, &caller, &query, after).await?;
    Ok(Json(Data { data: page }).into_response())
}

async fn find_page(
    client: &impl GenericClient,
    caller: &Caller,
    wanted: &PageQuery,
    after: Uuid,
) -> Result<Page<Product>, ApiError> {
    let rows = query(
        client,
        "SELECT * FROM product WHERE team_id = $1 AND mode = $2 AND status = $3 AND id < $4
         ORDER BY id DESC LIMIT $5",
        &[
            &caller.team_id,
            &caller.mode,
            &wanted.status,
            &after,
            // One more than fits on the page shows whether there is a next one.
            &i64::from(wanted.limit + 1),
        ],
    )
    .await?;
    let products: Result<_, _> = rows.iter().map(read_product).collect();
    Ok(wanted.page(products?))
}

/// Reads a product from its row.
pub fn read_product(row: &Row) -> Result<Product, ApiError> {
    Ok(Product {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        unit_price: number(row.try_get("unit_price")?)?,
        currency: row.try_get("currency")?,
        description: row.try_get("description")?,
        sku: row.try_get("sku")?,
        tax_rate: row
            .try_get::<_, Option<String>>("tax_rate")?
            .map(number)
            .transpose()?,
        product_type: row.try_get("type")?,
        unit_of_measure: row.try_get("unit_of_measure")?,
        status: row.try_get("status")?,
        created_at: time(row.try_get("created_at")?),
        updated_at: time(row.try_get("updated_at")?),
    })
}

fn number(text: String) -> Result<Box<RawValue>, ApiError> {
    RawValue::from_string(text).map_err(internal)
}

//! Changes of products, written by hand.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use rusqlite::{Connection, OptionalExtension as _, params};
use uuid::Uuid;

use super::database::{Database, find_api_key};
use super::product::find_product;
use crate::servers::by_hand_api::change::{ChangeAnswer, Fields, Once};
use crate::servers::by_hand_api::product::Product;
use crate::servers::by_hand_api::{ApiError, Caller, Digest, bearer, now};

pub async fn create_product(
    State(database): State<Database>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let key = bearer(&headers)?;
    let fields = Fields::parse(&body)?;
    let request = Once::new(&headers, "POST", "/api/v1/products", &body);
    let answer = database
        .write(move |connection| {
            once(connection, key, request.as_ref(), |caller| {
                insert_product(connection, caller, fields)
            })
        })
        .await?;
    answer.into_response(StatusCode::CREATED)
}

pub async fn update_product(
    State(database): State<Database>,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let key = bearer(&headers)?;
    let fields = Fields::parse(&body)?;
    let request = Once::new(&headers, "PATCH", &id.to_string(), &body);
    let answer = database
        .write(move |connection| {
            once(connection, key, request.as_ref(), |caller| {
                save_product(connection, caller, id, fields)
            })
        })
        .await?;
    answer.into_response(StatusCode::OK)
}

/// Makes a change for the caller with this key, unless the same request has already made it. The
/// record of the request is written in the transaction of the change.
pub fn once(
    connection: &Connection,
    key: Digest,
    request: Option<&Once>,
    change: impl FnOnce(&Caller) -> Result<Product, ApiError>,
) -> Result<ChangeAnswer, ApiError> {
    let caller = find_api_key(connection, key)?;
    if !caller.may_write {
        return Err(ApiError::ScopeInsufficient);
    }
    if let Some(request) = request
        && let Some(answer) = find_record(connection, &caller, request)?
    {
        return Ok(answer);
    }
    let product = change(&caller)?;
    let answer = ChangeAnswer::new(&product)?;
    if let Some(Once { key, request }) = request {
        connection
            .prepare_cached("INSERT INTO idempotency VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute(params![
                caller.team_id.as_bytes(),
                caller.mode,
                key,
                request,
                answer.body,
                now()
            ])?;
    }
    Ok(answer)
}

fn find_record(
    connection: &Connection,
    caller: &Caller,
    request: &Once,
) -> Result<Option<ChangeAnswer>, ApiError> {
    let record: Option<(Digest, String)> = connection
        .prepare_cached(
            "SELECT request, answer FROM idempotency WHERE team_id = ?1 AND mode = ?2 AND key = ?3",
        )?
        .query_row(
            params![caller.team_id.as_bytes(), caller.mode, request.key],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    record
        .map(|(first, body)| request.replay(&first, body))
        .transpose()
}

pub fn insert_product(
    connection: &Connection,
    caller: &Caller,
    fields: Fields,
) -> Result<Product, ApiError> {
    let product = fields.into_product()?;
    connection
        .prepare_cached(
            "INSERT INTO product VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'active', ?12, ?12)",
        )?
        .execute(params![
            caller.team_id.as_bytes(),
            caller.mode,
            product.id.as_bytes(),
            product.name,
            product.unit_price.get(),
            product.currency,
            product.description,
            product.sku,
            product.tax_rate.as_ref().map(|rate| rate.get()),
            product.product_type,
            product.unit_of_measure,
            now(),
        ])?;
    Ok(product)
}

pub fn save_product(
    connection: &Connection,
    caller: &Caller,
    id: Uuid,
    fields: Fields,
) -> Result<Product, ApiError> {
    let now = now();
    let product = fields.apply_to(find_product(connection, caller, id)?, now);
    connection
        .prepare_cached(
            "UPDATE product SET name = ?4, unit_price = ?5, currency = ?6, description = ?7,
                 sku = ?8, tax_rate = ?9, type = ?10, unit_of_measure = ?11, updated_at = ?12
             WHERE team_id = ?1 AND mode = ?2 AND id = ?3",
        )?
        .execute(params![
            caller.team_id.as_bytes(),
            caller.mode,
            id.as_bytes(),
            product.name,
            product.unit_price.get(),
            product.currency,
            product.description,
            product.sku,
            product.tax_rate.as_ref().map(|rate| rate.get()),
            product.product_type,
            product.unit_of_measure,
            now,
        ])?;
    Ok(product)
}

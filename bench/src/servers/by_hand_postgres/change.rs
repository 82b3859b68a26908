//! Changes of products.
//!
//! Two requests under one idempotency key may run at once. Both find no record of the key. The second then waits at a
//! unique index (that of the records, or of the skus) until the first has committed, is refused, and looks for the
//! record once more.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use deadpool_postgres::GenericClient;
use uuid::Uuid;

use super::database::{Database, execute, find_api_key, query_opt};
use super::product::read_product;
use crate::servers::by_hand_api::change::{ChangeAnswer, Fields, Once};
use crate::servers::by_hand_api::product::Product;
use crate::servers::by_hand_api::{ApiError, Caller, Digest, bearer, now};

/// A change to make.
pub enum Change {
    Create(Fields),
    Update(Uuid, Fields),
}

pub async fn create_product(
    State(database): State<Database>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let key = bearer(&headers)?;
    let change = Change::Create(Fields::parse(&body)?);
    let request = Once::new(&headers, "POST", "/api/v1/products", &body);
    let answer = make(&database, key, request.as_ref(), &change).await?;
    answer.into_response(StatusCode::CREATED)
}

pub async fn update_product(
    State(database): State<Database>,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let key = bearer(&headers)?;
    let change = Change::Update(id, Fields::parse(&body)?);
    let request = Once::new(&headers, "PATCH", &id.to_string(), &body);
    let answer = make(&database, key, request.as_ref(), &change).await?;
    answer.into_response(StatusCode::OK)
}

async fn make(
    database: &Database,
    key: Digest,
    request: Option<&Once>,
    change: &Change,
) -> Result<ChangeAnswer, ApiError> {
    match transact(database, key, request, change).await {
        // Perhaps because of the same request, whose record exists by now.
        Err(ApiError::DuplicateSku | ApiError::IdempotencyKeyReused) if request.is_some() => {
            transact(database, key, request, change).await
        }
        made => made,
    }
}

/// Makes a change in its own transaction, which is rolled back if it fails.
async fn transact(
    database: &Database,
    key: Digest,
    request: Option<&Once>,
    change: &Change,
) -> Result<ChangeAnswer, ApiError> {
    let mut connection = database.connection().await?;
    let transaction = connection.transaction().await?;
    let answer = once(&transaction, key, request, change).await?;
    transaction.commit().await?;
    Ok(answer)
}

/// Makes a change for the caller with this key, unless the same request has already made it. The record of the
/// request is written in the transaction of the change.
pub async fn once(
    transaction: &impl GenericClient,
    key: Digest,
    request: Option<&Once>,
    change: &Change,
) -> Result<ChangeAnswer, ApiError> {
    let caller = find_api_key(transaction, key).await?;
    if !caller.may_write {
        return Err(ApiError::ScopeInsufficient);
    }
    if let Some(request) = request
        && let Some(answer) = find_record(transaction, &caller, request).await?
    {
        return Ok(answer);
    }
    let product = match change {
        Change::Create(fields) => insert_product(transaction, &caller, fields).await?,
        Change::Update(id, fields) => save_product(transaction, &caller, *id, fields).await?,
    };
    let answer = ChangeAnswer::new(&product)?;
    if let Some(Once { key, request }) = request {
        execute(
            transaction,
            "INSERT INTO idempotency VALUES ($1, $2, $3, $4, $5, $6)",
            &[
                &caller.team_id,
                &caller.mode,
                key,
                &request.as_slice(),
                &answer.body,
                &now(),
            ],
        )
        .await?;
    }
    Ok(answer)
}

async fn find_record(
    transaction: &impl GenericClient,
    caller: &Caller,
    request: &Once,
) -> Result<Option<ChangeAnswer>, ApiError> {
    let record = query_opt(
        transaction,
        "SELECT request, answer FROM idempotency WHERE team_id = $1 AND mode = $2 AND key = $3",
        &[&caller.team_id, &caller.mode, &request.key],
    )
    .await?;
    record
        .map(|row| request.replay(row.try_get(0)?, row.try_get(1)?))
        .transpose()
}

async fn insert_product(
    transaction: &impl GenericClient,
    caller: &Caller,
    fields: &Fields,
) -> Result<Product, ApiError> {
    let product = fields.clone().into_product()?;
    execute(
        transaction,
        "INSERT INTO product VALUES
         ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'active', $12, $12)",
        &[
            &caller.team_id,
            &caller.mode,
            &product.id,
            &product.name,
            &product.unit_price.get(),
            &product.currency,
            &product.description,
            &product.sku,
            &product.tax_rate.as_ref().map(|rate| rate.get()),
            &product.product_type,
            &product.unit_of_measure,
            &now(),
        ],
    )
    .await?;
    Ok(product)
}

async fn save_product(
    transaction: &impl GenericClient,
    caller: &Caller,
    id: Uuid,
    fields: &Fields,
) -> Result<Product, ApiError> {
    // Locked, or one of two concurrent changes would be undone by the other.
    let found = query_opt(
        transaction,
        "SELECT * FROM product WHERE team_id = $1 AND mode = $2 AND id = $3 FOR UPDATE",
        &[&caller.team_id, &caller.mode, &id],
    )
    .await?
    .ok_or(ApiError::ProductNotFound)?;
    let now = now();
    let product = fields.clone().apply_to(read_product(&found)?, now);
    execute(
        transaction,
        "UPDATE product SET name = $4, unit_price = $5, currency = $6, description = $7,
             sku = $8, tax_rate = $9, type = $10, unit_of_measure = $11, updated_at = $12
         WHERE team_id = $1 AND mode = $2 AND id = $3",
        &[
            &caller.team_id,
            &caller.mode,
            &id,
            &product.name,
            &product.unit_price.get(),
            &product.currency,
            &product.description,
            &product.sku,
            &product.tax_rate.as_ref().map(|rate| rate.get()),
            &product.product_type,
            &product.unit_of_measure,
            &now,
        ],
    )
    .await?;
    Ok(product)
}

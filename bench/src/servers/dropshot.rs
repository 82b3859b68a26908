//! Contender (b): dropshot alone, with its log off. Its router, its extractors, and the recorded
//! bytes.
//!
//! The difference to our server is what that does itself: checks, the store, the request log.

use std::collections::HashMap;
use std::net::SocketAddr;

use dropshot::{
    ApiDescription, Body, ConfigDropshot, HttpError, Path, Query, RequestContext, ServerBuilder,
    UntypedBody, endpoint,
};
use http::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use slog::{Discard, Logger, o};
use uuid::Uuid;

use super::Prepared;
use crate::dataset::BoxError;
use crate::operation::Operation;
use crate::recording::Recording;

type Answers = HashMap<Operation, Prepared>;
type Reply = Response<Body>;

/// Headers that dropshot adds to every answer itself.
const OF_DROPSHOT: [&str; 1] = ["x-request-id"];

/// Serves until the process ends.
///
/// # Errors
/// When it cannot listen.
pub async fn serve(address: SocketAddr, recording: Recording) -> Result<(), BoxError> {
    let prepare = |(operation, recorded)| Ok((operation, Prepared::new(recorded, &OF_DROPSHOT)?));
    let answers = recording.into_iter().map(prepare);
    let answers: Answers = answers.collect::<Result<_, http::Error>>()?;
    let mut api = ApiDescription::new();
    api.register(get_product)?;
    api.register(list_products)?;
    api.register(create_product)?;
    api.register(update_product)?;
    api.register(exchange_token)?;
    api.register(list_links)?;
    let config = ConfigDropshot {
        bind_address: address,
        default_request_body_max_bytes: 64 * 1024,
        ..ConfigDropshot::default()
    };
    let log = Logger::root(Discard, o!());
    let server = ServerBuilder::new(api, answers, log)
        .config(config)
        .start()?;
    Ok(server.await?)
}

fn answer(context: &RequestContext<Answers>, operation: Operation) -> Result<Reply, HttpError> {
    let answer = context.context().get(&operation);
    answer
        .map(Prepared::response)
        .ok_or_else(|| HttpError::for_internal_error("nothing was recorded".to_owned()))
}

#[derive(Deserialize, JsonSchema)]
struct ProductPath {
    #[serde(rename = "id")]
    _id: Uuid,
}

#[derive(Deserialize, JsonSchema)]
struct ItemPath {
    #[serde(rename = "targetType")]
    _target_type: String,
    #[serde(rename = "id")]
    _id: Uuid,
}

#[derive(Deserialize, JsonSchema)]
struct PageQuery {
    limit: u32,
}

#[endpoint { method = GET, path = "/api/v1/products/{id}" }]
async fn get_product(
    context: RequestContext<Answers>,
    _: Path<ProductPath>,
) -> Result<Reply, HttpError> {
    answer(&context, Operation::Get)
}

#[endpoint { method = GET, path = "/api/v1/products" }]
async fn list_products(
    context: RequestContext<Answers>,
    query: Query<PageQuery>,
) -> Result<Reply, HttpError> {
    let operation = match query.into_inner().limit {
        100 => Operation::List100,
        _ => Operation::List20,
    };
    answer(&context, operation)
}

#[endpoint { method = POST, path = "/api/v1/products" }]
async fn create_product(
    context: RequestContext<Answers>,
    _: UntypedBody,
) -> Result<Reply, HttpError> {
    answer(&context, Operation::Create)
}

#[endpoint { method = PATCH, path = "/api/v1/products/{id}" }]
async fn update_product(
    context: RequestContext<Answers>,
    _: Path<ProductPath>,
    _: UntypedBody,
) -> Result<Reply, HttpError> {
    answer(&context, Operation::Patch)
}

#[endpoint { method = POST, path = "/api/auth/mobile/token" }]
async fn exchange_token(
    context: RequestContext<Answers>,
    _: UntypedBody,
) -> Result<Reply, HttpError> {
    answer(&context, Operation::Refresh)
}

#[endpoint { method = GET, path = "/api/mobile/items/{targetType}/{id}/links" }]
async fn list_links(
    context: RequestContext<Answers>,
    _: Path<ItemPath>,
) -> Result<Reply, HttpError> {
    answer(&context, Operation::Links)
}

//! The product catalog API: implements the trait that is generated from its document, with each operation in the file of its
//! noun.

use std::time::Duration;

use bytes::Bytes;
use dropshot::Body;
use http::Response;
use openapi_dropshot_runtime::{Admitted, ErrorAnswer, Operation, Rejection, Unchecked};

use super::answered::answered;
use super::api::Service;
use super::context::{Context, RequestContext};
use super::rejection::Error;
use super::turns::until_answered;
use super::{credential, error, product, span};
use crate::domain::api_key::ApiKey;
use crate::generated::catalog::*;

impl CatalogApi for Service {
    type Context = Context;
    type Error = Error;
    type ApiKey = ApiKey;

    async fn api_key(
        context: &RequestContext,
        _: &'static Operation,
    ) -> Result<Admitted<ApiKey>, Error> {
        credential::api_key(context).await
    }

    fn error_response(
        context: &RequestContext,
        _: &'static Operation,
        rejection: Rejection<Error>,
    ) -> ErrorAnswer<types::ErrorResponse> {
        error::answer(context, rejection).into_catalog(&context.request_id)
    }

    fn within<W: Future + Send>(
        context: &RequestContext,
        _: &'static Operation,
        work: W,
    ) -> impl Future<Output = W::Output> + Send {
        span::within(context, until_answered(work))
    }

    fn answered(
        context: &RequestContext,
        operation: &'static Operation,
        answer: Response<Bytes>,
        latency: Duration,
    ) -> Response<Body> {
        let overloaded = |rejection| Self::error_response(context, operation, rejection);
        answered(context, operation, answer, latency, overloaded)
    }

    async fn list_products(
        context: &RequestContext,
        caller: ApiKey,
        request: Unchecked<ListProductsRequest>,
    ) -> Result<ListProductsAnswer, Rejection<Error>> {
        product::list_products(context, caller, request).await
    }

    async fn create_product(
        context: &RequestContext,
        caller: ApiKey,
        request: Unchecked<CreateProductRequest>,
    ) -> Result<CreateProductAnswer, Rejection<Error>> {
        product::create_product(context, caller, request).await
    }

    async fn get_product(
        context: &RequestContext,
        caller: ApiKey,
        request: Unchecked<GetProductRequest>,
    ) -> Result<GetProductAnswer, Rejection<Error>> {
        product::get_product(context, caller, request).await
    }

    async fn update_product(
        context: &RequestContext,
        caller: ApiKey,
        request: Unchecked<UpdateProductRequest>,
    ) -> Result<UpdateProductAnswer, Rejection<Error>> {
        product::update_product(context, caller, request).await
    }

    async fn archive_product(
        context: &RequestContext,
        caller: ApiKey,
        request: Unchecked<ArchiveProductRequest>,
    ) -> Result<ArchiveProductAnswer, Rejection<Error>> {
        product::archive_product(context, caller, request).await
    }
}

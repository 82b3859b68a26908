//! Products, as the document of the catalog has them.

use std::borrow::Cow;

use openapi_dropshot_runtime::{Rejection, Request, Unchecked, json};

use super::context::{RequestContext, still_allowed};
use super::credential::require_api_key;
use super::error;
use super::received::{list_turn, received, received_noting};
use super::rejection::Error;
use crate::app::App;
use crate::domain;
use crate::domain::api_key::ApiKey;
use crate::domain::id::ProductId;
use crate::domain::idempotency::IdempotentRequest;
use crate::domain::product::{
    NewProduct, Page, Product, ProductChanges, ProductStatus, StatusFilter,
};
use crate::generated::catalog::*;

/// A page of the caller's catalog, newest product first.
pub(super) async fn list_products(
    context: &RequestContext,
    caller: ApiKey,
    request: Unchecked<ListProductsRequest>,
) -> Result<ListProductsAnswer, Rejection<Error>> {
    let (request, _permit) = received(context, &caller, request).await?;
    let status = filter(request.status);
    // The document bounds it to 1..=100.
    let limit = u32::try_from(i32::from(request.limit)).unwrap_or(1);
    let after = request.after.as_ref().map(|cursor| cursor.as_str());
    let list = async {
        list_turn(context, &caller, caller.team_id, caller.team_id.into()).await?;
        let list = app(context).list_products(&caller, status, limit, after);
        Ok(list.await?)
    };
    let page = read_by(context, &caller, list).await?;
    Ok(ListProductsAnswer::new(page_response(page)?))
}

/// Adds a product, once for each idempotency key.
pub(super) async fn create_product(
    context: &RequestContext,
    caller: ApiKey,
    request: Unchecked<CreateProductRequest>,
) -> Result<CreateProductAnswer, Rejection<Error>> {
    caller.may_write()?;
    let note = |request: &CreateProductRequest, body: &json::Value<'_>| {
        let key = request.idempotency_key.as_ref();
        once::<CreateProductRequest>(key, None, body)
    };
    let (request, once, _permit) = received_noting(context, &caller, request, note).await?;
    let outcome = app(context)
        .create_product(&caller, new_product(request.body), once)
        .await?;
    let location = error::published(format!("/api/v1/products/{}", outcome.value.id))?;
    let answer = CreateProductAnswer::new(product_response(outcome.value)?, location);
    Ok(match outcome.replayed {
        true => answer.idempotency_replayed(types::IdempotencyReplayed(true)),
        false => answer,
    })
}

/// One product, archived or not.
pub(super) async fn get_product(
    context: &RequestContext,
    caller: ApiKey,
    request: Unchecked<GetProductRequest>,
) -> Result<GetProductAnswer, Rejection<Error>> {
    let (request, _permit) = received(context, &caller, request).await?;
    let get = async {
        let get = app(context).get_product(&caller, request.id.0.into());
        Ok(get.await?)
    };
    let product = read_by(context, &caller, get).await?;
    Ok(GetProductAnswer::new(product_response(product)?))
}

/// Changes the fields that the body has, once for each idempotency key.
pub(super) async fn update_product(
    context: &RequestContext,
    caller: ApiKey,
    request: Unchecked<UpdateProductRequest>,
) -> Result<UpdateProductAnswer, Rejection<Error>> {
    caller.may_write()?;
    let note = |request: &UpdateProductRequest, body: &json::Value<'_>| {
        let key = request.idempotency_key.as_ref();
        once::<UpdateProductRequest>(key, Some(request.id.0.into()), body)
    };
    let (request, once, _permit) = received_noting(context, &caller, request, note).await?;
    let outcome = app(context)
        .update_product(&caller, request.id.0.into(), changes(request.body), once)
        .await?;
    let answer = UpdateProductAnswer::new(product_response(outcome.value)?);
    Ok(match outcome.replayed {
        true => answer.idempotency_replayed(types::IdempotencyReplayed(true)),
        false => answer,
    })
}

/// Archives a product.
pub(super) async fn archive_product(
    context: &RequestContext,
    caller: ApiKey,
    request: Unchecked<ArchiveProductRequest>,
) -> Result<ArchiveProductAnswer, Rejection<Error>> {
    caller.may_write()?;
    let (request, _permit) = received(context, &caller, request).await?;
    app(context)
        .archive_product(&caller, request.id.0.into(), None)
        .await?;
    Ok(ArchiveProductAnswer::new())
}

/// What `read` returns, unless the key has ended meanwhile.
async fn read_by<T>(
    context: &RequestContext,
    key: &ApiKey,
    read: impl Future<Output = Result<T, Rejection<Error>>>,
) -> Result<T, Rejection<Error>> {
    let check = async |_: &T| {
        let valid = require_api_key(context, key).await;
        valid.map_err(Rejection::Error)
    };
    still_allowed(read, check).await
}

fn app(context: &RequestContext) -> &App {
    &context.context().app
}

/// The request as idempotency sees it, if the caller gave it a key.
fn once<R: Request>(
    key: Option<&types::IdempotencyKey>,
    id: Option<ProductId>,
    body: &json::Value<'_>,
) -> Option<IdempotentRequest> {
    let operation = R::operation();
    let path = match id {
        Some(id) => operation.path.replace("{id}", &id.to_string()).into(),
        None => Cow::Borrowed(operation.path),
    };
    let method = operation.method.as_str();
    key.map(|key| IdempotentRequest::new(key.as_str(), method, &path, body))
}

fn filter(status: types::ProductStatusFilter) -> StatusFilter {
    match status {
        types::ProductStatusFilter::Active => StatusFilter::Active,
        types::ProductStatusFilter::Archived => StatusFilter::Archived,
        types::ProductStatusFilter::All => StatusFilter::All,
    }
}

fn new_product(body: types::CreateProduct) -> NewProduct {
    NewProduct {
        name: body.name.into(),
        unit_price: body.unit_price.into(),
        currency: body.currency.to_string(),
        description: body.description.map(String::from).into_option(),
        sku: body.sku.map(String::from).into_option(),
        tax_rate: body.tax_rate.map(Into::into).into_option(),
        product_type: body.type_.map(|it| it.to_string()),
        unit_of_measure: body.unit_of_measure.map(|it| it.to_string()),
    }
}

fn changes(body: types::UpdateProduct) -> ProductChanges {
    ProductChanges {
        name: body.name.map(Into::into),
        unit_price: body.unit_price.map(Into::into),
        currency: body.currency.map(|it| it.to_string()),
        description: body.description.map(String::from),
        sku: body.sku.map(String::from),
        tax_rate: body.tax_rate.map(Into::into),
        product_type: body.type_.map(|it| it.to_string()),
        unit_of_measure: body.unit_of_measure.map(|it| it.to_string()),
        unchanged_since: None,
    }
}

fn product_response(product: Product) -> Result<types::ProductResponse, domain::Error> {
    Ok(types::ProductResponse {
        data: published(product)?,
    })
}

fn page_response(page: Page<Product>) -> Result<types::ProductPageResponse, domain::Error> {
    let data = page
        .items
        .into_iter()
        .map(published)
        .collect::<Result<_, _>>()?;
    let next_cursor = page.next.map(error::published).transpose()?;
    let has_more = next_cursor.is_some();
    Ok(types::ProductPageResponse {
        data: types::ProductPage {
            data,
            has_more,
            next_cursor,
        },
    })
}

/// The product in the document's terms.
fn published(product: Product) -> Result<types::Product, domain::Error> {
    Ok(types::Product {
        id: product.id.0.into(),
        name: error::published(product.name)?,
        unit_price: error::published(product.unit_price)?,
        currency: error::published(product.currency)?,
        description: product.description.map(error::published).transpose()?,
        sku: product.sku.map(error::published).transpose()?,
        tax_rate: product.tax_rate.map(error::published).transpose()?,
        type_: product.product_type.map(error::published).transpose()?,
        unit_of_measure: product.unit_of_measure.map(error::published).transpose()?,
        status: match product.status {
            ProductStatus::Active => types::ProductStatus::Active,
            ProductStatus::Archived => types::ProductStatus::Archived,
        },
        created_at: product.created_at.to_datetime().into(),
        updated_at: product.updated_at.to_datetime().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of releases before this one digest the body as its type writes it.
    #[test]
    fn a_body_is_digested_as_its_type_writes_it() {
        let bodies = [
            r#"{"name":"A","unitPrice":1.50,"currency":"EUR"}"#,
            r#"{"currency":"EUR","unitPrice":15e-1,"name":"\u0041\n","sku":null,"description":"D"}"#,
            r#"{"name":"A","unitPrice":0,"currency":"EUR","taxRate":19.0,"type":"GOODS","unitOfMeasure":"hr"}"#,
        ];
        for body in bodies {
            let value = json::parse(body.as_bytes()).unwrap();
            let typed: types::CreateProduct = value.take().unwrap();
            let typed = serde_json::to_string(&typed).unwrap();
            let digest = |text: &str| {
                let value = json::parse(text.as_bytes()).unwrap();
                IdempotentRequest::new("k", "POST", "/p", &value).digest
            };
            assert_eq!(digest(body), digest(&typed), "{typed}");
        }
    }
}

//! Changes of products: their requests, checks, and answers.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::product::{Data, Product, time};
use super::{ApiError, Digest, digest, internal, now};

/// A product to create, or the changes to one. A field that may be cleared is `Some(None)` if it was
/// sent as null.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fields {
    name: Option<String>,
    unit_price: Option<Box<RawValue>>,
    currency: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    description: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    sku: Option<Option<String>>,
    #[serde(default, deserialize_with = "nullable")]
    tax_rate: Option<Option<Box<RawValue>>>,
    #[serde(rename = "type")]
    product_type: Option<String>,
    unit_of_measure: Option<String>,
}

fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl Fields {
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let fields: Self = serde_json::from_slice(body)
            .map_err(|_| ApiError::InvalidBody("not what is expected"))?;
        fields.check()?;
        Ok(fields)
    }

    fn check(&self) -> Result<(), ApiError> {
        let longer =
            |text: Option<&String>, most| text.is_some_and(|text| text.chars().count() > most);
        let outside = |number: Option<&RawValue>, most: f64| {
            number.is_some_and(|number| {
                !number
                    .get()
                    .parse()
                    .is_ok_and(|number| (0.0..=most).contains(&number))
            })
        };
        let nullable = |field: &'_ Option<Option<String>>, most| {
            longer(field.as_ref().and_then(Option::as_ref), most)
        };
        let tax_rate = self.tax_rate.as_ref().and_then(Option::as_deref);
        let refused = |why| Err(ApiError::InvalidBody(why));
        match () {
            () if self.name.as_ref().is_some_and(String::is_empty) => refused("name is empty"),
            () if longer(self.name.as_ref(), 255) => refused("name is too long"),
            () if outside(self.unit_price.as_deref(), 1e12) => refused("unitPrice is out of range"),
            () if self.currency.as_ref().is_some_and(|code| code.len() != 3) => {
                refused("currency has 3 characters")
            }
            () if nullable(&self.description, 2000) => refused("description is too long"),
            () if nullable(&self.sku, 100) => refused("sku is too long"),
            () if outside(tax_rate, 100.0) => refused("taxRate is 0 to 100"),
            () if longer(self.product_type.as_ref(), 50) => refused("type is too long"),
            () if longer(self.unit_of_measure.as_ref(), 50) => refused("unitOfMeasure is too long"),
            () => Ok(()),
        }
    }

    pub fn into_product(self) -> Result<Product, ApiError> {
        let missing = || ApiError::InvalidBody("name, unitPrice and currency are required");
        let now = now();
        Ok(Product {
            id: Uuid::now_v7(),
            name: self.name.ok_or_else(missing)?,
            unit_price: self.unit_price.ok_or_else(missing)?,
            currency: self.currency.ok_or_else(missing)?,
            description: self.description.flatten(),
            sku: self.sku.flatten(),
            tax_rate: self.tax_rate.flatten(),
            product_type: self.product_type,
            unit_of_measure: self.unit_of_measure,
            status: "active".to_owned(),
            created_at: time(now),
            updated_at: time(now),
        })
    }

    pub fn apply_to(self, product: Product, now: i64) -> Product {
        Product {
            name: self.name.unwrap_or(product.name),
            unit_price: self.unit_price.unwrap_or(product.unit_price),
            currency: self.currency.unwrap_or(product.currency),
            description: self.description.unwrap_or(product.description),
            sku: self.sku.unwrap_or(product.sku),
            tax_rate: self.tax_rate.unwrap_or(product.tax_rate),
            product_type: self.product_type.or(product.product_type),
            unit_of_measure: self.unit_of_measure.or(product.unit_of_measure),
            updated_at: time(now),
            ..product
        }
    }
}

/// The idempotency key of a request, and what identifies the request.
#[derive(Debug)]
pub struct Once {
    pub key: String,
    pub request: Digest,
}

impl Once {
    pub fn new(headers: &HeaderMap, method: &str, path: &str, body: &[u8]) -> Option<Self> {
        let key = headers.get("idempotency-key")?.to_str().ok()?.to_owned();
        let request = digest([method.as_bytes(), path.as_bytes(), body]);
        Some(Self { key, request })
    }

    /// The answer to the first request under the key, if this one is the same.
    pub fn replay(&self, first: &[u8], body: String) -> Result<ChangeAnswer, ApiError> {
        if first != self.request {
            return Err(ApiError::IdempotencyKeyReused);
        }
        let value: serde_json::Value = serde_json::from_str(&body).map_err(internal)?;
        let id = value["data"]["id"].as_str().unwrap_or_default();
        Ok(ChangeAnswer {
            id: id.parse().map_err(internal)?,
            body,
            replayed: true,
        })
    }
}

/// The answer to a change: the body, the product's id, and whether it is an earlier request's
/// answer.
pub struct ChangeAnswer {
    pub body: String,
    pub id: Uuid,
    pub replayed: bool,
}

impl ChangeAnswer {
    /// The answer to a new change.
    pub fn new(product: &Product) -> Result<Self, ApiError> {
        Ok(Self {
            body: serde_json::to_string(&Data { data: product }).map_err(internal)?,
            id: product.id,
            replayed: false,
        })
    }

    pub fn into_response(self, status: StatusCode) -> Result<Response, ApiError> {
        let mut response = (status, self.body).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        if status == StatusCode::CREATED {
            let location = format!("/api/v1/products/{}", self.id);
            headers.insert(header::LOCATION, location.try_into().map_err(internal)?);
        }
        if self.replayed {
            let name = HeaderName::from_static("idempotency-replayed");
            headers.insert(name, HeaderValue::from_static("true"));
        }
        Ok(response)
    }
}

//! The operations that are measured: what is asked, and what a right answer is.
//!
//! Every answer's status is checked. One in [`SAMPLE`] is compared whole: with the recorded bytes where a
//! contender answers those, otherwise with what the [data set](crate::dataset) says, as JSON values.

use std::io::Write as _;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::dataset::{self, CHANGED, Dataset};
use crate::recording::Recorded;
use crate::wire::Answer;

/// Of so many answers on a connection, one is compared whole.
const SAMPLE: u64 = 64;

/// An operation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// A product by its id.
    Get,
    /// The first page, of 20 products.
    #[value(name = "list20")]
    #[serde(rename = "list20")]
    List20,
    /// The first page, of 100 products.
    #[value(name = "list100")]
    #[serde(rename = "list100")]
    List100,
    /// A new product, under a new idempotency key.
    Create,
}

impl Operation {
    /// All of them, in the order of the report. Reading comes first.
    pub const ALL: [Self; 4] = [Self::Get, Self::List20, Self::List100, Self::Create];

    /// As the command line and the report write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List20 => "list20",
            Self::List100 => "list100",
            Self::Create => "create",
        }
    }

    /// Whether it changes something.
    pub fn writes(self) -> bool {
        matches!(self, Self::Create)
    }

    fn status(self) -> u16 {
        match self {
            Self::Create => 201,
            _ => 200,
        }
    }
}

/// What one connection asks, one request after the other.
#[derive(Debug)]
pub struct Script<'a> {
    operation: Operation,
    dataset: &'a Dataset,
    recorded: Option<&'a Recorded>,
    random: fastrand::Rng,
    asked: u64,
    /// The product that was asked for last.
    id: Uuid,
    /// The number that makes the last request's sku and idempotency key unique.
    unique: u128,
}

impl<'a> Script<'a> {
    /// The script of a connection to a contender, which answers what was `recorded` or for itself.
    pub fn new(operation: Operation, dataset: &'a Dataset, recorded: Option<&'a Recorded>) -> Self {
        Self {
            operation,
            dataset,
            recorded,
            random: fastrand::Rng::new(),
            asked: 0,
            id: Uuid::nil(),
            unique: 0,
        }
    }

    /// Writes the next request.
    pub fn next(&mut self, out: &mut Vec<u8>) {
        self.asked += 1;
        match self.operation {
            Operation::Get => {
                self.id = self.dataset.any_id(&mut self.random);
                let path = format_args!("/{}", self.id);
                request(out, "GET", path, &self.dataset.key, "", "");
            }
            Operation::List20 => {
                request(
                    out,
                    "GET",
                    format_args!("?limit=20"),
                    &self.dataset.key,
                    "",
                    "",
                );
            }
            Operation::List100 => {
                request(
                    out,
                    "GET",
                    format_args!("?limit=100"),
                    &self.dataset.key,
                    "",
                    "",
                );
            }
            Operation::Create => {
                self.unique = self.random.u128(..);
                let idempotency = format!("Idempotency-Key: {:032x}\r\n", self.unique);
                let body = self.new_product().to_string();
                request(
                    out,
                    "POST",
                    format_args!(""),
                    &self.dataset.key,
                    &idempotency,
                    &body,
                );
            }
        }
    }

    /// Checks the answer to the last request.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&mut self, answer: Answer<'_>) -> Result<(), String> {
        let wrong = |why: String| {
            let body = String::from_utf8_lossy(answer.body);
            Err(format!(
                "{}: {why}: {} {body}",
                self.operation.name(),
                answer.status
            ))
        };
        if answer.status != self.operation.status() {
            return wrong(format!("status {} was expected", self.operation.status()));
        }
        if self.asked % SAMPLE != 1 {
            return Ok(());
        }
        match self.recorded {
            Some(recorded) if recorded.body.as_bytes() == answer.body => Ok(()),
            Some(_) => wrong("not what was recorded".to_owned()),
            None => self.check_value(answer.body).or_else(wrong),
        }
    }

    fn check_value(&self, body: &[u8]) -> Result<(), String> {
        let body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let data = &body["data"];
        match self.operation {
            Operation::Get => check_product(data, Some(self.id)),
            Operation::List20 => check_page(data, 20),
            Operation::List100 => check_page(data, 100),
            Operation::Create => {
                let asked = self.new_product();
                let members = asked.as_object().into_iter().flatten();
                match members
                    .into_iter()
                    .find(|(name, value)| data[name] != **value)
                {
                    Some((name, _)) => Err(format!("{name} is not what was sent")),
                    None => Ok(()),
                }
            }
        }
    }

    /// The body of a create.
    fn new_product(&self) -> Value {
        json!({
            "name": "Created by the bench",
            "unitPrice": 120.5,
            "currency": "EUR",
            "description": "What an invoice says of this product, in a line or so.",
            "sku": format!("{:032x}", self.unique),
            "taxRate": 19,
            "type": "SERVICES",
            "unitOfMeasure": "hr",
        })
    }
}

/// Writes a request to the product catalog API. `headers` end with CRLF each.
fn request(
    out: &mut Vec<u8>,
    method: &str,
    path: std::fmt::Arguments<'_>,
    key: &str,
    headers: &str,
    body: &str,
) {
    let content = match body.len() {
        0 => String::new(),
        length => format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"),
    };
    // Writing to a vector cannot fail.
    let _ = write!(
        out,
        "{method} /api/v1/products{path} HTTP/1.1\r\nHost: bench.example\r\n\
         Authorization: Bearer {key}\r\n{headers}{content}\r\n{body}"
    );
}

/// A page has as many products as it may, and each is right.
fn check_page(page: &Value, limit: usize) -> Result<(), String> {
    let products = page["data"].as_array().map_or(&[][..], Vec::as_slice);
    if products.len() != limit {
        return Err(format!("{} products instead of {limit}", products.len()));
    }
    products
        .iter()
        .try_for_each(|product| check_product(product, None))
}

/// A product of the data set is what it was made as, and has the id that was asked for.
fn check_product(found: &Value, asked: Option<Uuid>) -> Result<(), String> {
    let id: Uuid = found["id"]
        .as_str()
        .and_then(|id| id.parse().ok())
        .ok_or_else(|| "no product with an id".to_owned())?;
    if asked.is_some_and(|asked| asked != id) {
        return Err("another product than asked for".to_owned());
    }
    match dataset::number(id) {
        Some(number) if number % CHANGED != 0 && *found != expected(number) => {
            Err(format!("product {number} differs"))
        }
        _ => Ok(()),
    }
}

/// The product of that number as the document describes it.
fn expected(number: u64) -> Value {
    let product = dataset::product(number);
    let time = product
        .created_at
        .to_datetime()
        .to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    json!({
        "id": product.id.0,
        "name": product.name,
        "unitPrice": product.unit_price,
        "currency": product.currency,
        "description": product.description,
        "sku": product.sku,
        "taxRate": product.tax_rate,
        "type": product.product_type,
        "unitOfMeasure": product.unit_of_measure,
        "status": "active",
        "createdAt": time,
        "updatedAt": time,
    })
}

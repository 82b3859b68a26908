//! The measured operations, and the requests of one connection.
//!
//! Every answer's status is checked, and one in [`SAMPLE`] is compared whole (see `check.rs`).

pub mod check;

use std::fmt::Arguments;
use std::io::Write as _;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::dataset::{CLIENT, Dataset, RefreshTokens, any_changed_id};
use crate::load::Ask;
use crate::recording::Recorded;
use crate::wire::Response;

/// One in this many answers on a connection is compared whole.
pub const SAMPLE: u64 = 64;

/// An operation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum Operation {
    /// A product by its id.
    Get,
    /// The first page, of 20 products.
    List20,
    /// The first page, of 100 products.
    List100,
    /// The share links of a file.
    Links,
    /// A new product, under a new idempotency key.
    Create,
    /// Another price and description for a product.
    Patch,
    /// The next tokens of a session; each connection has its own.
    Refresh,
    /// No request of its own: `get`, alone and then beside as many connections that `create`, in turns.
    Mixed,
}

impl Operation {
    /// All that are requests, in the order of the report. Reads come first.
    pub const REQUESTS: [Self; 7] = [
        Self::Get,
        Self::List20,
        Self::List100,
        Self::Links,
        Self::Create,
        Self::Patch,
        Self::Refresh,
    ];

    /// The name on the command line and in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List20 => "list20",
            Self::List100 => "list100",
            Self::Links => "links",
            Self::Create => "create",
            Self::Patch => "patch",
            Self::Refresh => "refresh",
            Self::Mixed => "mixed",
        }
    }

    /// Whether it makes a durable change.
    pub fn writes(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Patch | Self::Refresh | Self::Mixed
        )
    }

    /// The body for creating or changing a product, different for each number.
    pub fn body(self, unique: u128) -> Option<Value> {
        match self {
            Self::Create => Some(json!({
                "name": "Created by the bench",
                "unitPrice": 120.5,
                "currency": "EUR",
                "description": "What an invoice says of this product, in a line or so.",
                "sku": format!("{unique:032x}"),
                "taxRate": 19,
                "type": "SERVICES",
                "unitOfMeasure": "hr",
            })),
            Self::Patch => Some(json!({
                "unitPrice": (unique % 100_000) as u32,
                "description": "Changed by the bench.",
            })),
            _ => None,
        }
    }

    fn status(self) -> u16 {
        match self {
            Self::Create => 201,
            _ => 200,
        }
    }
}

/// The requests of one connection, one after another.
#[derive(Debug)]
pub struct Script<'a> {
    operation: Operation,
    dataset: &'a Dataset,
    recorded: Option<&'a Recorded>,
    tokens: &'a RefreshTokens,
    /// The number of the connection, and of the device that it stands for.
    device: usize,
    random: fastrand::Rng,
    asked: u64,
    /// The product or file of the last request.
    id: Uuid,
    /// Makes the last request's sku and idempotency key unique, or its price different.
    unique: u128,
}

impl<'a> Script<'a> {
    /// The script of a connection to a contender, which repeats `recorded` answers or gives its own.
    pub fn new(
        operation: Operation,
        dataset: &'a Dataset,
        recorded: Option<&'a Recorded>,
        tokens: &'a RefreshTokens,
        device: usize,
    ) -> Self {
        Self {
            operation,
            dataset,
            recorded,
            tokens,
            device,
            random: fastrand::Rng::new(),
            asked: 0,
            id: Uuid::nil(),
            unique: 0,
        }
    }

    fn list_links(&mut self, out: &mut Vec<u8>) {
        let Dataset { team, mobile, .. } = self.dataset;
        self.id = mobile.files[self.random.usize(0..mobile.files.len())].0;
        let path = format_args!("/api/mobile/items/file/{}/links", self.id);
        let token = &mobile.devices[self.device].access_token;
        let headers = format!("Authorization: Bearer {token}\r\nX-Team-Id: {team}\r\n");
        request(out, "GET", path, &headers, "");
    }

    fn to_catalog(
        &self,
        out: &mut Vec<u8>,
        method: &str,
        path: Arguments<'_>,
        headers: &str,
        body: &str,
    ) {
        let headers = format!("Authorization: Bearer {}\r\n{headers}", self.dataset.key);
        request(
            out,
            method,
            format_args!("/api/v1/products{path}"),
            &headers,
            body,
        );
    }

    /// The body of the last request.
    fn body(&self) -> Value {
        let refresh = || {
            json!({
                "grant_type": "refresh_token",
                "refresh_token": self.tokens.borrow()[self.device],
                "client_id": CLIENT,
            })
        };
        self.operation.body(self.unique).unwrap_or_else(refresh)
    }
}

impl Ask for Script<'_> {
    fn next(&mut self, out: &mut Vec<u8>) {
        self.asked += 1;
        self.unique = self.random.u128(..);
        match self.operation {
            Operation::Get | Operation::Mixed => {
                self.id = self.dataset.any_id(&mut self.random);
                let path = format_args!("/{}", self.id);
                self.to_catalog(out, "GET", path, "", "");
            }
            Operation::List20 => self.to_catalog(out, "GET", format_args!("?limit=20"), "", ""),
            Operation::List100 => self.to_catalog(out, "GET", format_args!("?limit=100"), "", ""),
            Operation::Links => self.list_links(out),
            Operation::Create => {
                let key = format!("Idempotency-Key: {:032x}\r\n", self.unique);
                self.to_catalog(
                    out,
                    "POST",
                    format_args!(""),
                    &key,
                    &self.body().to_string(),
                );
            }
            Operation::Patch => {
                self.id = any_changed_id(self.dataset.products, &mut self.random);
                let path = format_args!("/{}", self.id);
                self.to_catalog(out, "PATCH", path, "", &self.body().to_string());
            }
            Operation::Refresh => {
                let path = format_args!("/api/auth/mobile/token");
                request(out, "POST", path, "", &self.body().to_string());
            }
        }
    }

    fn check(&mut self, answer: Response<'_>) -> Result<(), String> {
        self.compare(answer).map_err(|why| {
            let body = String::from_utf8_lossy(answer.body);
            format!("{}: {why}: {} {body}", self.operation.name(), answer.status)
        })
    }
}

/// Writes a request. `headers` end with CRLF each.
pub fn request(out: &mut Vec<u8>, method: &str, path: Arguments<'_>, headers: &str, body: &str) {
    let content = match body.len() {
        0 => String::new(),
        length => format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"),
    };
    // Writing to a vector cannot fail.
    let _ = write!(
        out,
        "{method} {path} HTTP/1.1\r\nHost: bench.example\r\n{headers}{content}\r\n{body}"
    );
}

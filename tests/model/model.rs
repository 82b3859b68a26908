//! The interface of the catalog in memory, written from docs/interface.md and
//! docs/decisions.md, "Catalog", alone.

use std::collections::BTreeMap;

use test_support::number::canonical;

use crate::plan::{Client, Members};

/// A catalog: a team and a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Catalog {
    Live,
    Test,
    Other,
}

impl Client {
    /// The catalog of the client's key.
    pub fn catalog(self) -> Catalog {
        match self {
            Self::Live | Self::LiveToo | Self::LiveReadOnly => Catalog::Live,
            Self::Test => Catalog::Test,
            Self::Other => Catalog::Other,
        }
    }

    fn writes(self) -> bool {
        self != Self::LiveReadOnly
    }
}

/// A product as the model knows it.
#[derive(Clone, Debug)]
pub struct Product {
    pub catalog: Catalog,
    /// Assigned by the service.
    pub id: String,
    /// Its members as JSON text, except for id and timestamps.
    pub members: BTreeMap<String, String>,
}

impl Product {
    fn is_active(&self) -> bool {
        self.members["status"] == "\"active\""
    }
}

/// The expected answer of the service.
#[derive(Clone, Debug)]
pub enum Expected {
    /// An error with this status and code.
    Error(u16, &'static str),
    /// A success that creates; the product gets the id from the service's answer.
    Created(Members),
    /// A success that changes the product of this number, or only moves its `updatedAt`.
    Updated(usize),
    Archived,
    /// The product with this number.
    Shown(usize),
    /// The same text, status and `Location` as before, and the header that marks a replay.
    Replayed(Success),
}

/// An answer that is kept under an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Success {
    pub status: u16,
    pub text: String,
    pub location: Option<String>,
}

/// The state of the service.
#[derive(Debug, Default)]
pub struct Model {
    pub products: Vec<Product>,
    /// The request and its answer, by catalog and key.
    pub kept: BTreeMap<(Catalog, u8), (String, Success)>,
}

impl Model {
    /// Creates, unless something prevents it.
    pub fn create(&self, client: Client, body: &Members, key: Option<u8>) -> Expected {
        if !client.writes() {
            return Expected::Error(403, "scope_insufficient");
        }
        if !["name", "unitPrice", "currency"]
            .iter()
            .all(|name| body.contains_key(name))
        {
            return Expected::Error(400, "invalid_body");
        }
        if let Some(repeated) = self.repeated(client, &request("POST", "", body), key) {
            return repeated;
        }
        if self.is_taken(client.catalog(), body, None) {
            return Expected::Error(409, "duplicate_sku");
        }
        Expected::Created(body.clone())
    }

    /// Changes a product, unless something prevents it.
    pub fn update(
        &mut self,
        client: Client,
        number: usize,
        body: &Members,
        key: Option<u8>,
    ) -> Expected {
        if !client.writes() {
            return Expected::Error(403, "scope_insufficient");
        }
        let id = self.id(number);
        if let Some(repeated) = self.repeated(client, &request("PATCH", &id, body), key) {
            return repeated;
        }
        if !self.has(client, number) {
            return Expected::Error(404, "product_not_found");
        }
        let active = self.products[number].is_active();
        if active && self.is_taken(client.catalog(), body, Some(number)) {
            return Expected::Error(409, "duplicate_sku");
        }
        let members = body
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.products[number].members.extend(members);
        Expected::Updated(number)
    }

    /// Archives a product.
    pub fn archive(&mut self, client: Client, number: usize) -> Expected {
        if !client.writes() {
            return Expected::Error(403, "scope_insufficient");
        }
        if !self.has(client, number) {
            return Expected::Error(404, "product_not_found");
        }
        if !self.products[number].is_active() {
            return Expected::Error(409, "already_archived");
        }
        let status = "\"archived\"".to_owned();
        self.products[number]
            .members
            .insert("status".to_owned(), status);
        Expected::Archived
    }

    /// Shows a product.
    pub fn read(&self, client: Client, number: usize) -> Expected {
        match self.has(client, number) {
            true => Expected::Shown(number),
            false => Expected::Error(404, "product_not_found"),
        }
    }

    /// The numbers of the products that a list shows, newest first.
    pub fn list(&self, client: Client, status: &str) -> Vec<usize> {
        let shown = |product: &Product| {
            product.catalog == client.catalog()
                && (status == "all" || product.is_active() == (status == "active"))
        };
        let numbers = (0..self.products.len()).rev();
        numbers
            .filter(|number| shown(&self.products[*number]))
            .collect()
    }

    /// Remembers a new product.
    pub fn add(&mut self, catalog: Catalog, id: String, body: &Members) {
        let mut members: BTreeMap<String, String> = ["description", "sku", "taxRate"]
            .map(|name| (name.to_owned(), "null".to_owned()))
            .into();
        let sent = body
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        members.extend(sent);
        members.insert("status".to_owned(), "\"active\"".to_owned());
        self.products.push(Product {
            catalog,
            id,
            members,
        });
    }

    /// Keeps the first success of a key.
    pub fn keep(&mut self, client: Client, key: Option<u8>, request: String, success: Success) {
        if let Some(key) = key {
            self.kept
                .insert((client.catalog(), key), (request, success));
        }
    }

    /// The id of a product; an unused one if there is no such number.
    pub fn id(&self, number: usize) -> String {
        let id = self.products.get(number).map(|product| product.id.clone());
        id.unwrap_or_else(|| "01a1faef-295b-7c3e-9f21-6d0b8a4c5e17".to_owned())
    }

    fn has(&self, client: Client, number: usize) -> bool {
        let product = self.products.get(number);
        product.is_some_and(|product| product.catalog == client.catalog())
    }

    fn repeated(&self, client: Client, request: &str, key: Option<u8>) -> Option<Expected> {
        let (kept, success) = self.kept.get(&(client.catalog(), key?))?;
        Some(match kept == request {
            true => Expected::Replayed(success.clone()),
            false => Expected::Error(409, "idempotency_key_reused"),
        })
    }

    /// Whether another active product of the catalog has the sku of a body.
    fn is_taken(&self, catalog: Catalog, body: &Members, except: Option<usize>) -> bool {
        let Some(sku) = body.get("sku").filter(|sku| **sku != "null") else {
            return false;
        };
        self.products.iter().enumerate().any(|(number, product)| {
            Some(number) != except
                && product.catalog == catalog
                && product.is_active()
                && product.members["sku"] == **sku
        })
    }
}

/// What identifies a request: method, path, and the body as a JSON value.
pub fn request(method: &str, id: &str, body: &Members) -> String {
    let members: Vec<_> = body
        .iter()
        .map(|(name, value)| match canonical(value) {
            Some(number) => format!("{name}:{number:?}"),
            None => format!("{name}:{value}"),
        })
        .collect();
    format!("{method} {id} {members:?}")
}

//! The requests to a catalogue.

use serde_json::Value;
use uuid::Uuid;

use super::catalog::{Catalog, PAGE, ask_page};
use crate::dataset;
use crate::load::Ask;
use crate::operation::check::{check_members, check_page, check_product};
use crate::operation::{Operation, SAMPLE, request};
use crate::wire::Response;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Any product, by its id, with its team's key.
    Get,
    /// The first page of the team with half of all products, again and again.
    FirstPage,
    /// The first page of the team of a random product: many teams in turns.
    FirstPageOfAny,
    /// The last page of the team with half of all products.
    DeepestPage,
    /// A new product for the team of a random product, under a new idempotency key.
    Create,
}

impl Question {
    /// All of them, in the order of the report. Reading comes first.
    pub const ALL: [Self; 5] = [
        Self::Get,
        Self::FirstPage,
        Self::FirstPageOfAny,
        Self::DeepestPage,
        Self::Create,
    ];

    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::FirstPage => "first page",
            Self::FirstPageOfAny => "first page, any team",
            Self::DeepestPage => "deepest page",
            Self::Create => "create",
        }
    }

    /// The limit for the processor time with 10 million products, as a multiple of that with
    /// 10,000.
    pub fn goal(self) -> Option<f64> {
        match self {
            Self::Get => Some(2.5),
            Self::FirstPage => Some(1.1),
            Self::FirstPageOfAny => None,
            Self::DeepestPage => Some(1.25),
            Self::Create => Some(1.3),
        }
    }
}

/// The requests of one connection to a catalogue.
pub struct Script<'a> {
    question: Question,
    catalog: &'a Catalog,
    random: fastrand::Rng,
    asked: u64,
    /// The product of the last request.
    id: Uuid,
    /// The body of the last request.
    body: Option<Value>,
}

impl<'a> Script<'a> {
    /// The script of a connection.
    pub fn new(question: Question, catalog: &'a Catalog) -> Self {
        Self {
            question,
            catalog,
            random: fastrand::Rng::new(),
            asked: 0,
            id: Uuid::nil(),
            body: None,
        }
    }

    fn create(&mut self, out: &mut Vec<u8>) {
        let unique = self.random.u128(..);
        let key = self.catalog.any(&mut self.random).1;
        let headers = format!("Authorization: Bearer {key}\r\nIdempotency-Key: {unique:032x}\r\n");
        self.body = Operation::Create.body(unique);
        let body = self.body.as_ref().map(Value::to_string);
        let path = format_args!("/api/v1/products");
        request(out, "POST", path, &headers, &body.unwrap_or_default());
    }

    fn compare(&self, answer: Response<'_>) -> Result<(), String> {
        let expected = if self.question == Question::Create {
            201
        } else {
            200
        };
        if answer.status != expected {
            return Err(format!("status {expected} was expected"));
        }
        if self.asked % SAMPLE != 1 {
            return Ok(());
        }
        let body: Value = serde_json::from_slice(answer.body).map_err(|error| error.to_string())?;
        let data = &body["data"];
        match (self.question, &self.body) {
            (Question::Get, _) => check_product(data, Some(self.id)),
            (Question::Create, Some(sent)) => check_members(data, sent),
            (Question::DeepestPage, _) if data["hasMore"] != false => {
                Err("not the last page".to_owned())
            }
            _ => check_page(data, PAGE as usize),
        }
    }
}

impl Ask for Script<'_> {
    fn next(&mut self, out: &mut Vec<u8>) {
        self.asked += 1;
        let catalog = self.catalog;
        match self.question {
            Question::Get => {
                let (number, key) = catalog.any(&mut self.random);
                self.id = dataset::id(number);
                let path = format_args!("/api/v1/products/{}", self.id);
                request(
                    out,
                    "GET",
                    path,
                    &format!("Authorization: Bearer {key}\r\n"),
                    "",
                );
            }
            Question::FirstPage => ask_page(out, catalog.largest(), PAGE, ""),
            Question::FirstPageOfAny => {
                let key = catalog.any(&mut self.random).1;
                ask_page(out, key, PAGE, "");
            }
            Question::DeepestPage => ask_page(out, catalog.largest(), PAGE, catalog.deepest()),
            Question::Create => self.create(out),
        }
    }

    fn check(&mut self, answer: Response<'_>) -> Result<(), String> {
        self.compare(answer).map_err(|why| {
            let body = String::from_utf8_lossy(answer.body);
            format!("{}: {why}: {} {body}", self.question.name(), answer.status)
        })
    }
}

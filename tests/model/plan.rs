//! Plans: what random clients do.

use std::collections::BTreeMap;

use proptest::prelude::*;

/// The members of a body, as JSON text.
pub type Members = BTreeMap<&'static str, &'static str>;

/// The acting client. The first two share a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Team A, Live.
    Live,
    /// Team A, Live, another key.
    LiveToo,
    /// Team A, Live, `READ_ONLY`.
    LiveReadOnly,
    /// Team A, Test.
    Test,
    /// Team B, Live.
    Other,
}

/// One operation of one client.
#[derive(Clone, Debug)]
pub struct Step {
    pub client: Client,
    pub action: Action,
}

/// A client's action. A product is identified by its number among all products, whichever client
/// created it.
#[derive(Clone, Debug)]
pub enum Action {
    Create {
        body: Members,
        sent: Sent,
    },
    Update {
        product: usize,
        body: Members,
        sent: Sent,
    },
    Archive {
        product: usize,
    },
    Read {
        product: usize,
    },
    /// A walk through all pages.
    Walk {
        status: Option<&'static str>,
        limit: usize,
    },
}

/// How a body is sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// One of few idempotency keys.
    pub key: Option<u8>,
    /// Whether the members are in reverse order: the same JSON value in another spelling.
    pub reversed: bool,
}

/// A random step.
pub fn step() -> impl Strategy<Value = Step> {
    let client = prop_oneof![
        6 => Just(Client::Live),
        4 => Just(Client::LiveToo),
        1 => Just(Client::LiveReadOnly),
        2 => Just(Client::Test),
        2 => Just(Client::Other),
    ];
    (client, action()).prop_map(|(client, action)| Step { client, action })
}

fn action() -> impl Strategy<Value = Action> {
    let product = 0..1000_usize;
    let status = prop::option::of(prop::sample::select(vec!["active", "archived", "all"]));
    prop_oneof![
        6 => (created(), sent()).prop_map(|(body, sent)| Action::Create { body, sent }),
        5 => (product.clone(), changed(), sent())
            .prop_map(|(product, body, sent)| Action::Update { product, body, sent }),
        2 => product.clone().prop_map(|product| Action::Archive { product }),
        2 => product.prop_map(|product| Action::Read { product }),
        2 => (status, 1..4_usize).prop_map(|(status, limit)| Action::Walk { status, limit }),
    ]
}

fn sent() -> impl Strategy<Value = Sent> {
    (prop::option::of(0..4_u8), any::<bool>()).prop_map(|(key, reversed)| Sent { key, reversed })
}

/// Includes numbers that a double cannot hold exactly, and two spellings of one number.
const PRICES: [&str; 6] = [
    "0",
    "12.5",
    "12.50",
    "0.1",
    "999999999999.99",
    "0.000000000000000000007",
];
const SKUS: [&str; 4] = ["null", "\"A\"", "\"a\"", "\"B-1\""];

fn member(name: &'static str, values: &[&'static str]) -> impl Strategy<Value = Members> + use<> {
    let value = prop::option::of(prop::sample::select(values.to_vec()));
    value.prop_map(move |value| value.map(|value| (name, value)).into_iter().collect())
}

/// The members of a body for a product that exists.
fn changed() -> impl Strategy<Value = Members> {
    let members = (
        member("name", &["\"Consulting\"", "\"Käse 🧀\""]),
        member("unitPrice", &PRICES),
        member("currency", &["\"EUR\"", "\"JPY\""]),
        member("description", &["null", "\"Good\"", "\"\""]),
        member("sku", &SKUS),
        member("taxRate", &["null", "0", "19", "7.7"]),
        member("type", &["\"GOODS\"", "\"SERVICES\""]),
        member("unitOfMeasure", &["\"hr\"", "\"kg\""]),
    );
    members.prop_map(|(a, b, c, d, e, f, g, h)| {
        [a, b, c, d, e, f, g, h].into_iter().flatten().collect()
    })
}

/// The members of a body for a new product; occasionally without a required one.
fn created() -> impl Strategy<Value = Members> {
    (changed(), prop::bool::weighted(0.95)).prop_map(|(mut members, complete)| {
        if complete {
            members.entry("name").or_insert("\"Consulting\"");
            members.entry("unitPrice").or_insert("12.5");
            members.entry("currency").or_insert("\"EUR\"");
        }
        members
    })
}

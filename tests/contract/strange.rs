//! Requests that make little sense: whatever is sent, the answer is one that the document lists, and
//! never an error of the service.
//!
//! `INVOICING_PROPERTY_CASES` sets how many; 200 unless set.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use test_support::caller::Request;
use test_support::deployment::available;
use test_support::document;
use test_support::given;

use crate::given::given;
use crate::properties::cases;

/// A change to a valid request.
#[derive(Clone, Debug)]
enum Spoil {
    /// A variable segment of the path, percent-encoded.
    Segment(Vec<u8>),
    /// The raw query.
    Query(String),
    /// One more header.
    Header(&'static str, Vec<u8>),
    /// The body.
    Body(Vec<u8>),
}

fn spoil() -> impl Strategy<Value = Spoil> {
    let names = [
        "idempotency-key",
        "x-team-id",
        "content-type",
        "authorization",
        "x-forwarded-for",
        "accept",
    ];
    let header = prop::collection::vec(prop_oneof![0x20_u8..0x7f, 0x80_u8..=0xff], 0..40);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 1..40).prop_map(Spoil::Segment),
        "[a-z&=%0-9+;.\\[\\]-]{0,30}".prop_map(Spoil::Query),
        "(limit|status|after)=[a-z0-9%+.-]{0,8}(&(limit|status|after)=[A-Za-z0-9_-]{0,8})?"
            .prop_map(Spoil::Query),
        (prop::sample::select(names.to_vec()), header)
            .prop_map(|(name, value)| Spoil::Header(name, value)),
        prop::collection::vec(any::<u8>(), 0..200).prop_map(Spoil::Body),
        "[\\[\\]{}\":,0-9eE.+a-z\\\\ -]{0,60}".prop_map(|text| Spoil::Body(text.into_bytes())),
    ]
}

fn spoiled(valid: &Request, spoil: &Spoil) -> Request {
    let request = valid.clone();
    match spoil {
        Spoil::Segment(bytes) => {
            let segment: String = bytes.iter().map(|byte| format!("%{byte:02X}")).collect();
            let path = request.path().to_owned();
            let is_variable = |it: &str| it.len() == 36 && it.contains('-');
            let segments = path.split('/').map(|it| {
                if is_variable(it) {
                    segment.as_str()
                } else {
                    it
                }
            });
            request.target(segments.collect::<Vec<_>>().join("/"))
        }
        Spoil::Query(query) => {
            let target = format!("{}?{query}", request.path());
            request.target(target)
        }
        Spoil::Header(name, value) => request.header(name, value),
        Spoil::Body(bytes) => request.text(bytes.clone()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_asked_the_answer_is_listed_and_no_error_of_the_service() {
    let given = given!(given());
    let operations = [document::catalog(), document::mobile()];
    for operation in operations.iter().flat_map(|document| &document.operations) {
        let Some(valid) = available(given.request(&operation.id).await) else {
            continue;
        };
        let config = Config {
            cases: cases(),
            failure_persistence: None,
            ..Config::default()
        };
        let spoils = prop::collection::vec(spoil(), 1..3);
        let here = tokio::runtime::Handle::current();
        let outcome = tokio::task::block_in_place(|| {
            TestRunner::new(config).run(&spoils, |spoils| {
                let request = spoils
                    .iter()
                    .fold(valid.clone(), |request, spoil| spoiled(&request, spoil));
                // A segment that is not UTF-8 never reaches an operation: it gets the framework's
                // answer.
                let caller = &given.service.caller;
                let decodable = spoils.iter().all(|spoil| match spoil {
                    Spoil::Segment(bytes) => {
                        std::str::from_utf8(bytes).is_ok_and(|it| it != "." && it != "..")
                    }
                    _ => true,
                });
                let status = match decodable {
                    true => here.block_on(caller.send(request)).status(),
                    false => here
                        .block_on(caller.send_unchecked(request))
                        .map_or(0, |it| it.status),
                };
                prop_assert!((200..500).contains(&status), "{status}");
                Ok(())
            })
        });
        if let Err(failure) = outcome {
            panic!("{}: {failure}", operation.id);
        }
    }
}

//! Documents that the generator accepts, what it makes of them, and how that behaves.
//!
//! `accepted/CASE.yaml` becomes `accepted/CASE.rs`, and all of them become the client of the folder
//! `accepted/client`. What stands there is compiled into this test. After a change of the
//! generator: `EXPECTORATE=overwrite cargo test -p openapi-dropshot --test accepted`, twice, since the first
//! run still has the old text compiled in; and read the difference.

use std::path::{Path, PathBuf};

use openapi_dropshot::Document;

#[path = "accepted/absence.rs"]
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
mod absence;
#[path = "accepted/behaviour.rs"]
mod behaviour;
#[path = "accepted/bodies.rs"]
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
mod bodies;
#[path = "accepted/client/mod.rs"]
#[allow(dead_code, unused_imports)]
mod client;
#[path = "accepted/composed.rs"]
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
mod composed;
#[path = "accepted/inline.rs"]
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
mod inline;
#[path = "accepted/limits.rs"]
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
mod limited;
#[path = "accepted/named.rs"]
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
mod named;
#[path = "accepted/open.rs"]
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
mod open;
#[path = "accepted/scalars.rs"]
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
mod scalars;
#[path = "accepted/security.rs"]
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
mod security;
#[path = "accepted/unions.rs"]
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
mod unions;

const CASES: [&str; 10] = [
    "absence", "bodies", "composed", "inline", "limits", "named", "open", "scalars", "security",
    "unions",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/accepted")
}

fn read(case: &str) -> Document {
    let file = format!("{case}.yaml");
    let text = std::fs::read_to_string(folder().join(&file)).unwrap();
    Document::parse(&file, &text, case).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn servers_are_as_expected() {
    for case in CASES {
        let text = openapi_dropshot::server(&read(case)).unwrap();
        expectorate::assert_contents(folder().join(case).with_extension("rs"), &text);
    }
}

#[test]
fn the_client_is_as_expected() {
    for (name, text) in openapi_dropshot::client(&CASES.map(read), None, None).unwrap() {
        expectorate::assert_contents(folder().join("client").join(name), &text);
    }
}

#[test]
fn no_output_has_floating_point() {
    for case in CASES {
        let mut texts = openapi_dropshot::client(&[read(case)], None, None).unwrap();
        // `Decimal` itself converts to and from it, when asked to.
        texts.remove("decimal.rs");
        texts.insert(
            case.to_owned(),
            openapi_dropshot::server(&read(case)).unwrap(),
        );
        assert!(texts.values().all(|text| !text.contains("f64")), "{case}");
    }
}

mod absent_null_and_value {
    use serde_json::json;

    use crate::{absence, client};

    #[test]
    fn an_optional_property_keeps_all_three_on_both_sides() {
        let texts = [
            "{}",
            r#"{"color":null,"place":null,"weight":null,"links":null}"#,
            r#"{"text":"t","color":"dark-blue","place":{"city":"c"},"weight":0.10,"labels":[],"links":[null,"l"]}"#,
        ];
        for text in texts {
            let server: absence::types::NoteChange = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&server).unwrap(), text);
            let client: client::absence::types::NoteChange = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&client).unwrap(), text);
        }
    }

    #[test]
    fn a_required_property_may_be_null_and_not_absent() {
        let whole = json!({"text": "t", "color": null, "place": null, "weight": null, "labels": [],
            "links": null, "changedAt": null});
        let note: absence::types::Note = serde_json::from_value(whole.clone()).unwrap();
        assert_eq!(serde_json::to_value(&note).unwrap(), whole);
        for member in whole.as_object().unwrap().keys() {
            let mut part = whole.clone();
            part.as_object_mut().unwrap().remove(member);
            let read = serde_json::from_value::<absence::types::Note>(part);
            assert!(read.unwrap_err().to_string().contains(member), "{member}");
        }
    }

    #[test]
    fn builders_know_all_three() {
        use client::{Field, absence::types::NoteChange};
        let made: NoteChange = NoteChange::builder()
            .weight(Field::Null)
            .try_into()
            .unwrap();
        assert_eq!(made.weight, Field::Null);
        assert_eq!(made.color, Field::Absent);
        assert_eq!(made.labels, None);
    }

    #[test]
    fn times_have_three_digits_at_least() {
        use absence::types::Moment;
        for (text, shown) in [
            ("2026-11-20T21:49:00Z", "2026-11-20T21:49:00.000Z"),
            ("2026-11-20T22:49:00.5+01:00", "2026-11-20T21:49:00.500Z"),
            ("2026-11-20T21:49:00.000001Z", "2026-11-20T21:49:00.000001Z"),
        ] {
            assert_eq!(text.parse::<Moment>().unwrap().to_string(), shown);
        }
        assert!("yesterday".parse::<Moment>().is_err());
    }

    #[test]
    fn a_time_whose_year_in_utc_has_no_four_digits_is_none() {
        use absence::types::Moment as Server;
        use client::absence::types::Moment as Client;
        for (text, is_one) in [
            ("0000-01-01T00:00:00+01:00", false),
            ("0000-01-01T00:00:00-01:00", true),
            ("9999-12-31T23:59:59-01:00", false),
            ("9999-12-31T23:59:59+01:00", true),
            ("2026-11-20 21:49:00Z", false),
        ] {
            assert_eq!(text.parse::<Server>().is_ok(), is_one, "{text}");
            assert_eq!(text.parse::<Client>().is_ok(), is_one, "{text}");
        }
        let late = chrono::DateTime::<chrono::Utc>::MAX_UTC;
        let error = serde_json::to_string(&Client(late)).unwrap_err();
        assert!(
            error.to_string().ends_with("has no text of RFC 3339"),
            "{error}"
        );
        assert!(serde_json::to_string(&Server(late)).is_err());
    }

    #[test]
    fn a_uuid_has_one_form() {
        use absence::types::NoteId;
        let text = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        assert_eq!(text.parse::<NoteId>().unwrap().to_string(), text);
        assert_eq!(
            text.replace('-', "")
                .parse::<NoteId>()
                .unwrap_err()
                .to_string(),
            "\"67e5504410b1426f9247bb680e5fe0c8\" is not a UUID"
        );
    }
}

mod inline_schemas {
    use crate::inline::OPERATIONS;
    use crate::inline::types::{Host, HostKind, HostLimitsCores, HostShare2, ListHostsOrder};

    const HOST: &str = r#"{"id":"67e55044-10b1-426f-9247-bb680e5fe0c8","addresses":["192.0.2.1","::1"],"gateway":"192.0.2.9","router":null,"ports":{"http":80,"last":65535},"labels":{"b":"x","a":"y"},"notes":{"n":null},"since":"2026-02-28","level":-128,"share":100,"parent":null,"kind":"zone","flags":[],"limits":{"memory":18446744073709551615,"cores":2}}"#;

    #[test]
    fn both_sides_read_and_write_alike() {
        let server: Host = serde_json::from_str(HOST).unwrap();
        let client: crate::client::inline::types::Host = serde_json::from_str(HOST).unwrap();
        let written = HOST.replace(r#"{"b":"x","a":"y"}"#, r#"{"a":"y","b":"x"}"#);
        assert_eq!(serde_json::to_string(&server).unwrap(), written);
        assert_eq!(serde_json::to_string(&client).unwrap(), written);
    }

    #[test]
    fn types_and_checks_refuse_the_same() {
        let schema = &crate::inline::schemas::Host;
        for (from, to) in [
            (r#""192.0.2.1""#, r#""192.0.2.256""#),
            (r#""192.0.2.9""#, r#""::1""#),
            (r#""router":null"#, r#""router":"1.2.3.4""#),
            ("65535", "65536"),
            ("65535", "-1"),
            (r#""x""#, r#""a label of more than 20""#),
            (r#"{"n":null}"#, r#"{"n":1}"#),
            ("2026-02-28", "2026-02-29"),
            ("2026-02-28", "2026-2-28"),
            ("-128", "-129"),
            ("100", "101"),
            ("zone", "cloud"),
            ("18446744073709551615", "18446744073709551616"),
            (r#""cores":2"#, r#""cores":0"#),
        ] {
            let text = HOST.replacen(from, to, 1);
            assert_ne!(text, HOST, "{from}");
            let read = serde_json::from_str::<Host>(&text);
            assert!(read.is_err(), "{to}");
            let value = openapi_dropshot_runtime::json::parse(text.as_bytes()).unwrap();
            let violations = openapi_dropshot_runtime::schema::check(schema, &value);
            assert_eq!(violations.iter().count(), 1, "{to}: {violations:?}");
        }
        let value = openapi_dropshot_runtime::json::parse(HOST.as_bytes()).unwrap();
        assert!(openapi_dropshot_runtime::schema::check(schema, &value).is_empty());
    }

    #[test]
    fn a_name_is_made_of_the_place_and_numbered_where_it_is_taken() {
        assert_eq!(*HostLimitsCores::default(), 1);
        assert_eq!(ListHostsOrder::default(), ListHostsOrder::Up);
        assert!(HostShare2::try_from(101_i64).is_err());
        assert_eq!(HostKind::ALL.len(), 2);
    }

    #[test]
    fn an_answer_is_listed_by_its_number_its_class_or_the_rest() {
        let listed = |operation: usize, status: u16| {
            let status = openapi_dropshot_runtime::http::StatusCode::from_u16(status).unwrap();
            OPERATIONS[operation].listed(status).map(|it| it.status)
        };
        use openapi_dropshot_runtime::Status;
        assert_eq!(listed(0, 418), Some(Status::Class(4)));
        assert_eq!(listed(0, 302), None);
        assert_eq!(listed(1, 201), Some(Status::Code(201)));
        assert_eq!(listed(1, 200), None);
        assert_eq!(listed(1, 409), Some(Status::Code(409)));
        assert_eq!(listed(1, 410), Some(Status::Other));
        assert_eq!(listed(1, 599), Some(Status::Other));
        assert_eq!(listed(2, 500), None);
        assert_eq!(listed(3, 500), None);
    }
}

mod union_types {
    use openapi_dropshot_runtime::json::parse;
    use openapi_dropshot_runtime::schema::{Schema, check};
    use serde::{Serialize, de::DeserializeOwned};

    use crate::client::unions::types as client;
    use crate::unions::{schemas, types as server};

    /// Whether a text comes back as it was by way of the type, and passes the check: never one of them alone.
    pub(crate) fn passes<T: DeserializeOwned + Serialize>(schema: &Schema, text: &str) -> bool {
        let checked = check(schema, &parse(text.as_bytes()).unwrap()).is_empty();
        let read = serde_json::from_str::<T>(text);
        assert_eq!(checked, read.is_ok(), "{text}");
        if let Ok(value) = read {
            assert_eq!(serde_json::to_string(&value).unwrap(), text);
        }
        checked
    }

    #[test]
    fn a_tag_that_no_discriminator_names_decides() {
        for (text, good) in [
            (r#"{"type":"A","data":"192.0.2.1"}"#, true),
            (r#"{"type":"A","data":"::1"}"#, false),
            (r#"{"type":"SRV","data":{"host":"h","weight":0.10}}"#, true),
            (r#"{"type":"MX","data":{"host":"h","weight":null}}"#, true),
            (r#"{"type":"MX","data":"192.0.2.1"}"#, false),
            (
                r#"{"type":"group","records":[{"type":"A","data":"192.0.2.1"}],"first":{"type":"group","records":[]}}"#,
                true,
            ),
            (r#"{"type":"group","records":[{"type":"A"}]}"#, false),
            (r#"{"type":"TXT","data":"t"}"#, false),
            (r#"{"data":"192.0.2.1"}"#, false),
            ("[]", false),
        ] {
            assert_eq!(
                passes::<server::Record>(&schemas::Record, text),
                good,
                "{text}"
            );
            assert_eq!(
                passes::<client::Record>(&schemas::Record, text),
                good,
                "{text}"
            );
        }
        let record: server::Record =
            serde_json::from_str(r#"{"type":"A","data":"192.0.2.1"}"#).unwrap();
        assert!(matches!(record, server::Record::A(_)));
    }

    #[test]
    fn a_member_or_a_text_decides() {
        for (text, good) in [
            (r#""Gone""#, true),
            (r#""Away""#, false),
            (r#"{"Refused":{"by":"policy"}}"#, true),
            (r#"{"Refused":{"by":"chance"}}"#, false),
            (r#"{"Wrapped":{"Wrapped":"Missing"}}"#, true),
            (r#"{"Wrapped":{"Wrapped":"Lost"}}"#, false),
            ("{}", false),
            ("1", false),
        ] {
            assert_eq!(
                passes::<server::Refusal>(&schemas::Refusal, text),
                good,
                "{text}"
            );
            assert_eq!(
                passes::<client::Refusal>(&schemas::Refusal, text),
                good,
                "{text}"
            );
        }
        // More members than one: the check says so, and the type takes the first.
        let both = r#"{"Refused":{"by":"policy"},"Wrapped":"Gone"}"#;
        let violations = check(&schemas::Refusal, &parse(both.as_bytes()).unwrap());
        assert_eq!(violations.len(), 1);
        assert!(serde_json::from_str::<server::Refusal>(both).is_err());
    }

    #[test]
    fn a_type_decides() {
        for (text, good) in [
            ("true", true),
            ("-1.50", true),
            ("11", false),
            (r#""abc""#, true),
            (r#""abcd""#, false),
            (r#"[1,[null,"a"],{"x":[]}]"#, true),
            (r#"{"x":{"y":false},"z":null}"#, true),
            (r#"{"x":{"y":"abcd"}}"#, false),
        ] {
            assert_eq!(
                passes::<server::Anything>(&schemas::Anything, text),
                good,
                "{text}"
            );
            assert_eq!(
                passes::<client::Anything>(&schemas::Anything, text),
                good,
                "{text}"
            );
        }
    }

    #[test]
    fn a_violation_is_that_of_the_alternative_that_is_meant() {
        let told = |text: &str| {
            let violations = check(&schemas::Refusal, &parse(text.as_bytes()).unwrap());
            let all = violations.iter();
            let all: Vec<_> = all
                .map(|it| format!("{} {}: {}", it.path, it.constraint, it.message))
                .collect();
            all.join("; ")
        };
        assert_eq!(
            told(r#"{"Refused":{"by":"chance"}}"#),
            "/Refused/by enum: must be one of policy, person, but is \"chance\""
        );
        assert_eq!(
            told("7"),
            " oneOf: must be one of Missing, Gone or an object with Refused or an object with Wrapped, but is a number"
        );
    }

    #[test]
    fn an_object_contains_its_like_in_lists_and_maps() {
        for (text, good) in [
            (
                r#"{"branches":[{"branches":[]}],"named":{"a":{"branches":[]}}}"#,
                true,
            ),
            (r#"{"branches":[],"named":null}"#, true),
            (r#"{"branches":[{}]}"#, false),
        ] {
            assert_eq!(passes::<server::Tree>(&schemas::Tree, text), good, "{text}");
            assert_eq!(passes::<client::Tree>(&schemas::Tree, text), good, "{text}");
        }
    }

    #[test]
    fn null_alone_is_a_type() {
        assert_eq!(
            serde_json::to_string(&server::RefusalResponse).unwrap(),
            "null"
        );
        assert!(passes::<server::RefusalResponse>(
            &schemas::RefusalResponse,
            "null"
        ));
        assert!(!passes::<server::RefusalResponse>(
            &schemas::RefusalResponse,
            "{}"
        ));
    }
}

mod limits {
    use openapi_dropshot_runtime::Decimal;

    use crate::scalars::types::{
        Amount, Balance, Copies, Count, Factor, Label, Memo, Rate, Speed, Urgent,
    };

    fn error<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> String {
        text.parse::<T>()
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn each_side_of_each_bound() {
        assert_eq!(error::<Copies>("0"), "0 is less than 1");
        assert_eq!(error::<Copies>("1") + &error::<Copies>("9"), "");
        assert_eq!(error::<Copies>("10"), "10 is more than 9");
        assert_eq!(error::<Balance>("-5"), "-5 is not more than -5");
        assert_eq!(error::<Balance>("-4"), "");
        assert_eq!(error::<Amount>("0"), "0 is not more than 0");
        assert_eq!(error::<Amount>("1e-9") + &error::<Amount>("999.990"), "");
        assert_eq!(
            error::<Amount>("999.9900000000000000001"),
            "999.9900000000000000001 is more than 999.99"
        );
        assert_eq!(error::<Rate>("0.99999999999999999999"), "");
        assert_eq!(error::<Rate>("1.0"), "1.0 is not less than 1");
        assert_eq!(
            error::<Factor>("-1e300") + &error::<Count>("-9223372036854775808"),
            ""
        );
        assert_eq!(error::<Amount>("a"), "\"a\": not a JSON number");
    }

    #[test]
    fn the_length_of_a_text_is_its_characters_however_it_is_made() {
        for (text, mistake) in [
            ("", "shorter than 1 characters"),
            ("1", ""),
            ("éééé", ""),
            ("\u{10ffff}\u{10ffff}\u{10ffff}\u{10ffff}", ""),
            ("12345", "longer than 4 characters"),
            ("ééééé", "longer than 4 characters"),
        ] {
            let owned = Label::try_from(text.to_owned()).map_err(|e| e.to_string());
            assert_eq!(error::<Label>(text), mistake, "{text:?}");
            assert_eq!(owned.err().unwrap_or_default(), mistake, "{text:?}");
            let json = serde_json::Value::from(text);
            let read = serde_json::from_value::<Label>(json).map_err(|e| e.to_string());
            assert_eq!(read.err().unwrap_or_default(), mistake, "{text:?}");
        }
    }

    #[test]
    fn reading_checks_too() {
        let read = serde_json::from_str::<Copies>("12")
            .unwrap_err()
            .to_string();
        assert!(read.starts_with("12 is more than 9"), "{read}");
        assert!(serde_json::from_str::<Amount>("1000").is_err());
        assert_eq!(
            Amount::try_from(Decimal::from(5)).unwrap(),
            Amount::try_from(5).unwrap()
        );
        assert!(Copies::try_from(u64::MAX).is_err());
    }

    #[test]
    fn defaults_are_the_documents() {
        assert_eq!(*Copies::default(), 2);
        assert_eq!(Rate::default().to_string(), "0.25");
        assert_eq!(Speed::default(), Speed::Fast);
        assert_eq!(Memo::default(), "none");
        assert!(*Urgent::default());
    }
}

mod texts {
    use std::collections::{BTreeMap, HashMap};

    use crate::client::scalars::types::{Cash, Label, Memo, Pin, Speed};

    #[test]
    fn a_newtype_over_a_string_is_a_string_to_whoever_reads_it() {
        fn takes(text: impl AsRef<str>) -> usize {
            text.as_ref().len()
        }
        let label = Label::try_from("B-1").unwrap();
        let owned = "B-1".to_owned();
        assert!(label == "B-1" && label == *"B-1" && label == owned);
        assert!("B-1" == label && *"B-1" == label && owned == label);
        assert_ne!(label, "B-2");
        let text: &str = &label;
        assert_eq!((text, label.as_str(), &*label), ("B-1", "B-1", "B-1"));
        assert_eq!((label.to_string(), takes(&label)), ("B-1".to_owned(), 3));
        assert!(label.starts_with('B'));
        assert_eq!(Some(label.clone()).as_deref(), Some("B-1"));
        assert_eq!("B-1".parse::<Label>().unwrap(), label);
        assert_eq!(Label::try_from(String::from("B-1")).unwrap(), label);
        assert_eq!(String::from(label), "B-1");
    }

    #[test]
    fn a_map_is_asked_by_the_text_of_its_keys() {
        let label = || Label::try_from("B-1").unwrap();
        assert_eq!(HashMap::from([(label(), 1)]).get("B-1"), Some(&1));
        assert_eq!(BTreeMap::from([(label(), 1)]).get("B-1"), Some(&1));
    }

    #[test]
    fn a_string_without_limits_is_made_of_any_text() {
        let memo = Memo::from("none");
        assert_eq!(memo, Memo::from(String::from("none")));
        assert_eq!((&*memo, memo.as_ref()), ("none", "none"));
        assert_eq!(memo.to_string(), "none");
    }

    #[test]
    fn a_secret_compares_and_shows_nothing() {
        let pin = Pin::try_from("0123").unwrap();
        assert_eq!(pin.as_str(), "0123");
        assert!(pin == "0123" && format!("{pin:?}") == "Pin(..)");
    }

    #[test]
    fn an_enumeration_that_refuses_a_text_says_it_and_what_there_is() {
        let refusal = |text: &str| text.parse::<Speed>().unwrap_err().to_string();
        assert_eq!(refusal("brisk"), "\"brisk\" is none of slow, fast");
        assert_eq!(
            refusal("Fast"),
            "\"Fast\" is none of slow, fast (did you mean fast?)"
        );
        assert_eq!(Speed::ALL, [Speed::Slow, Speed::Fast]);
        assert_eq!(Speed::Slow.as_str(), "slow");
    }

    #[test]
    fn a_member_that_would_be_a_keyword_is_called_after_its_type_in_the_client() {
        let text = r#"{"method":"cash","amount":1,"type":"slow"}"#;
        let cash: Cash = serde_json::from_str(text).unwrap();
        assert_eq!(cash.speed, Some(Speed::Slow));
        assert_eq!(serde_json::to_string(&cash).unwrap(), text);
        let built = Cash::builder().method("cash").amount(1).speed(Speed::Slow);
        assert_eq!(Cash::try_from(built).unwrap(), cash);
    }
}

mod one_of {
    use crate::client::scalars::types::{Card, CardMethod, Payment, Pin};

    #[test]
    fn the_discriminator_decides_and_decimals_stay_exact() {
        let text = r#"{"method":"virtual card","pin":"0123","amount":0.1000000000000000000001}"#;
        let payment: Payment = serde_json::from_str(text).unwrap();
        assert!(matches!(&payment, Payment::Card(card) if card.method == CardMethod::VirtualCard));
        assert_eq!(serde_json::to_string(&payment).unwrap(), text);
    }

    #[test]
    fn a_mistake_is_that_of_the_variant() {
        let error = |text| {
            serde_json::from_str::<Payment>(text)
                .unwrap_err()
                .to_string()
        };
        assert!(error(r#"{"method":"cash"}"#).starts_with("missing field `amount`"));
        assert!(error(r#"{"method":"gold"}"#).starts_with("`gold` is not a `method` of `Payment`"));
        assert!(error("{}").starts_with("missing field `method`"));
        assert!(error("7").starts_with("invalid type: integer `7`"));
    }

    #[test]
    fn secrets_do_not_show() {
        let pin = Pin::try_from("31337").unwrap();
        assert_eq!(format!("{pin:?}"), "Pin(..)");
        let builder = Card::builder().method(CardMethod::Card).pin(pin).amount(1);
        assert!(!format!("{builder:?}").contains("31337"));
        let card = Card::try_from(builder).unwrap();
        assert!(!format!("{:?}", Payment::from(card)).contains("31337"));
        assert!(
            !Pin::try_from("31337x")
                .unwrap_err()
                .to_string()
                .contains("31337")
        );
    }
}

/// What clients send, and what they make of the answers.
mod exchanges {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use futures::StreamExt;

    use super::client::{bodies, security};

    /// Answers one request so, and gives what it was, with what the client made of the answer.
    fn exchange<T>(answer: &str, send: impl AsyncFnOnce(String) -> T) -> (String, T) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = format!("HTTP/1.1 {answer}");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            loop {
                let read = stream.read(&mut buffer).unwrap();
                request.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&request).to_lowercase();
                let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
                let length = head
                    .lines()
                    .find_map(|it| it.strip_prefix("content-length: "));
                let is_whole = match length {
                    Some(length) => body.len() >= length.parse().unwrap(),
                    None => !head.contains("chunked") || body.ends_with("0\r\n\r\n"),
                };
                if read == 0 || (!head.is_empty() && is_whole) {
                    break;
                }
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let made = runtime.block_on(send(url));
        (server.join().unwrap(), made)
    }

    const NONE: &str = "204 No Content\r\n\r\n";

    #[test]
    fn bodies_go_out_with_their_media_types() {
        let (request, _) = exchange(NONE, async |url| {
            let client = bodies::Client::new(&url);
            client
                .add_picture()
                .body("a picture")
                .send()
                .await
                .map(drop)
        });
        assert!(request.contains("content-type: image/png\r\n"), "{request}");
        assert!(request.ends_with("\r\n\r\na picture"), "{request}");
        let answer = "200 OK\r\ncontent-length: 4\r\n\r\nnull";
        let (request, null) = exchange(answer, async |url| {
            let client = bodies::Client::new(&url);
            let answer = client.put_nothing().body(None).send().await.unwrap();
            answer.into_inner()
        });
        assert!(
            request.ends_with("\r\n\r\nnull") && null.is_none(),
            "{request}"
        );
        let (request, _) = exchange("200 OK\r\n\r\n{}", async |url| {
            let form = reqwest::multipart::Form::new().text("name", "value");
            let client = bodies::Client::new(&url);
            client.upload().body(form).send().await.map(drop)
        });
        let media_type = "content-type: multipart/form-data; boundary=";
        assert!(request.contains(media_type), "{request}");
        assert!(request.contains("name=\"name\""), "{request}");
    }

    #[test]
    fn a_body_that_may_be_left_out_is_sent_when_it_is_given() {
        let (request, _) = exchange(NONE, async |url| {
            let client = bodies::Client::new(&url);
            client.delete_file().name("a").send().await.map(drop)
        });
        assert!(!request.contains("content-type"), "{request}");
        assert!(request.ends_with("\r\n\r\n"), "{request}");
        let (request, _) = exchange(NONE, async |url| {
            let client = bodies::Client::new(&url);
            let why = "old".to_owned();
            let body = bodies::types::Reason { why };
            client
                .delete_file()
                .name("a")
                .body(body)
                .send()
                .await
                .map(drop)
        });
        assert!(request.ends_with("{\"why\":\"old\"}"), "{request}");
        let (request, _) = exchange(NONE, async |url| {
            let client = bodies::Client::new(&url);
            client.fill_in_a_part_of_the_form().send().await.map(drop)
        });
        assert!(request.ends_with("\r\n\r\n"), "{request}");
    }

    #[test]
    fn a_form_has_lists_by_repetition_and_objects_as_json() {
        let (request, _) = exchange("200 OK\r\n\r\n{}", async |url| {
            let client = bodies::Client::new(&url);
            let reason = r#"{"why":"a b"}"#;
            let text = format!(
                r#"{{"name":"a&b","count":3,"urgent":true,"tags":["x","y z"],"sizes":[[1],[]],"reason":{reason},"any":"t"}}"#
            );
            let form: bodies::types::Form = serde_json::from_str(&text).unwrap();
            client.send_form().body(form).send().await.map(drop)
        });
        let body = request.rsplit("\r\n\r\n").next().unwrap();
        assert_eq!(
            body,
            "any=%22t%22&count=3&name=a%26b&reason=%7B%22why%22%3A%22a+b%22%7D&sizes=%5B%5B1%5D%2C%5B%5D%5D\
             &tags=x&tags=y+z&urgent=true"
        );
        assert!(
            request.contains("content-type: application/x-www-form-urlencoded\r\n"),
            "{request}"
        );
    }

    #[test]
    fn an_answer_of_bytes_is_a_stream() {
        let answer = "200 OK\r\ncontent-length: 3\r\n\r\nPNG";
        let (_, bytes) = exchange(answer, async |url| {
            let client = bodies::Client::new(&url);
            let answer = client.get_picture().send().await.unwrap();
            let pieces = answer.into_inner().into_inner();
            let pieces: Vec<_> = pieces.map(Result::unwrap).collect().await;
            pieces.concat()
        });
        assert_eq!(bytes, b"PNG");
    }

    #[test]
    fn an_error_has_the_body_that_its_status_says() {
        use security::types::{Closed, ClosedOrNothingOrStuck as Body, Stuck};
        let closed = Closed {
            seen: "you".to_owned(),
        };
        for (answer, status, expected) in [
            (
                "400 Bad\r\n\r\n{\"seen\":\"you\"}",
                400,
                Body::Closed(closed),
            ),
            ("404 None\r\ncontent-length: 0\r\n\r\n", 404, Body::Nothing),
            (
                "409 Stuck\r\n\r\n{\"force\":1}",
                409,
                Body::Stuck(Stuck { force: 1 }),
            ),
            (
                "418 Tea\r\n\r\n{\"force\":2}",
                418,
                Body::Stuck(Stuck { force: 2 }),
            ),
            (
                "500 Broken\r\n\r\n{\"force\":3}",
                500,
                Body::Stuck(Stuck { force: 3 }),
            ),
        ] {
            let (_, outcome) = exchange(answer, async |url| {
                let client = security::Client::new(&url);
                client.fail().status(1).send().await
            });
            match outcome {
                Err(security::Error::ErrorResponse(error)) => {
                    assert_eq!(error.status().as_u16(), status);
                    assert_eq!(error.into_inner(), expected);
                }
                other => panic!("{other:?}"),
            }
        }
        let (_, outcome) = exchange("202 Soon\r\n\r\n", async |url| {
            let client = security::Client::new(&url);
            client.fail().status(1).send().await
        });
        assert_eq!(outcome.unwrap().status().as_u16(), 202);
    }

    #[test]
    fn an_answer_to_head_is_its_headers() {
        let answer = "200 OK\r\nx-pieces: 2\r\n\r\n";
        let (request, pieces) = exchange(answer, async |url| {
            let client = bodies::Client::new(&url);
            let answer = client.find_file().name("a").send().await.unwrap();
            answer.headers()["x-pieces"].clone()
        });
        assert!(request.starts_with("HEAD /files/a "), "{request}");
        assert_eq!(pieces, "2");
    }

    #[test]
    fn what_a_path_cannot_say_is_not_sent() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let client = bodies::Client::new("http://127.0.0.1:1");
        for name in ["", ".", ".."] {
            let outcome = runtime.block_on(client.get_file().name(name).send());
            match outcome.map(drop) {
                Err(bodies::Error::InvalidRequest(message)) => assert_eq!(
                    message,
                    format!("no path can say {name:?}, which is the value of name")
                ),
                other => panic!("{other:?}"),
            }
        }
        for (name, path) in [
            ("...", "/files/..."),
            ("%2e", "/files/%252e"),
            ("a/..", "/files/a%2F.."),
        ] {
            let (request, _) = exchange("200 OK\r\n\r\n", async |url| {
                let client = bodies::Client::new(&url);
                client.get_file().name(name).send().await.map(drop)
            });
            assert!(request.starts_with(&format!("GET {path} ")), "{request}");
        }
    }

    #[test]
    fn a_success_has_the_body_that_its_status_says() {
        use security::types::{Closed, Stuck, StuckOrClosedOrNothing as Body};
        let seen = || "you".to_owned();
        for (answer, expected) in [
            (
                "200 OK\r\n\r\n{\"force\":1}",
                Body::Stuck(Stuck { force: 1 }),
            ),
            (
                "201 Made\r\n\r\n{\"seen\":\"you\"}",
                Body::Closed(Closed { seen: seen() }),
            ),
            (
                "202 Soon\r\n\r\n{\"seen\":\"you\"}",
                Body::Closed(Closed { seen: seen() }),
            ),
            (NONE, Body::Nothing),
        ] {
            let (_, body) = exchange(answer, async |url| {
                let client = security::Client::new(&url);
                let step = client.take_step().body(Stuck { force: 1 });
                step.send().await.unwrap().into_inner()
            });
            assert_eq!(body, expected);
        }
        let (_, outcome) = exchange("200 OK\r\n\r\n{\"seen\":\"you\"}", async |url| {
            let client = security::Client::new(&url);
            client.take_step().body(Stuck { force: 1 }).send().await
        });
        assert!(outcome.is_err());
    }

    #[test]
    fn a_list_in_a_query_has_its_name_before_each_item() {
        let (request, _) = exchange(NONE, async |url| {
            let client = security::Client::new(&url);
            client
                .by_everybody()
                .floors(Vec::new())
                .size(vec![1, 2])
                .send()
                .await
                .map(drop)
        });
        assert!(
            request.starts_with("GET /public?size=1&size=2 "),
            "{request}"
        );
    }
}

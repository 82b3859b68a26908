//! Documents that the generator accepts, the code generated from them, and how that behaves.
//!
//! `accepted/CASE.yaml` becomes `accepted/CASE.rs`, and all of them become the client in the folder
//! `accepted/client`. These files are compiled into this test. After a change of the generator:
//! `EXPECTORATE=overwrite cargo test -p openapi-dropshot --test accepted`, twice, since the first run still
//! has the old text compiled in; and read the difference.

use std::path::{Path, PathBuf};

use openapi_dropshot::Document;

#[path = "accepted/absence.rs"]
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
mod absence;
#[path = "accepted/absent_null_and_value.rs"]
mod absent_null_and_value;
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
#[path = "accepted/exchanges.rs"]
mod exchanges;
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
#[path = "accepted/union_types.rs"]
mod union_types;
// Once more, without any use of it: a client must not cause warnings about parts that its documents do not
// use.
#[path = "accepted/client/newtype.rs"]
#[deny(warnings)]
#[allow(clippy::duplicate_mod)]
mod unused;
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
        // `Decimal` itself converts to and from it, on request.
        texts.remove("decimal.rs");
        texts.insert(
            case.to_owned(),
            openapi_dropshot::server(&read(case)).unwrap(),
        );
        assert!(texts.values().all(|text| !text.contains("f64")), "{case}");
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

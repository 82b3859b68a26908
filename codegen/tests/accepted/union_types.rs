//! Which alternative of a union is meant: the check and the types of both sides say the same.

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

#[test]
fn null_of_an_alternative_is_that_of_the_list() {
    for (text, good) in [
        (r#"{"step":null,"measure":null}"#, true),
        (
            r#"{"step":{"kind":"jump","height":null},"measure":10.0}"#,
            true,
        ),
        (
            r#"{"step":{"kind":"pause"},"measure":"low","grade":null,"move":null,"next":null,"owner":null}"#,
            true,
        ),
        (
            r#"{"step":{"kind":"walk"},"measure":"high","grade":"b","move":{"how":"sprint"},"next":true,"owner":{"host":"h"}}"#,
            true,
        ),
        (
            r#"{"step":{"kind":"walk"},"measure":1,"next":2,"owner":"me"}"#,
            true,
        ),
        (r#"{"step":null}"#, false),
        (r#"{"step":null,"measure":11}"#, false),
        (r#"{"step":null,"measure":null,"grade":"c"}"#, false),
        (r#"{"step":null,"measure":null,"move":{}}"#, false),
        (r#"{"step":{"kind":null},"measure":null}"#, false),
    ] {
        let (server, client) = (
            passes::<server::Plan>(&schemas::Plan, text),
            passes::<client::Plan>(&schemas::Plan, text),
        );
        assert_eq!((server, client), (good, good), "{text}");
    }
    let none: client::Plan = serde_json::from_str(r#"{"step":null,"measure":null}"#).unwrap();
    assert!(none.step.is_none() && none.measure.is_none() && none.grade.is_absent());
}

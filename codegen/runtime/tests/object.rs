//! Reading objects from their members, including those that keep members beyond their properties.

use std::collections::BTreeMap;

use openapi_dropshot_runtime::{Members, Object, object, text};
use serde::de::MapAccess;
use serde::{Deserialize, Deserializer};

#[derive(Debug, PartialEq)]
struct Pair<const IS_CLOSED: bool> {
    one: u8,
    other: Option<Flag>,
}

impl<'de, const IS_CLOSED: bool> Object<'de> for Pair<IS_CLOSED> {
    const MEMBERS: &'static [&'static str] = &["one", "an other"];
    const IS_CLOSED: bool = IS_CLOSED;

    fn of<A: MapAccess<'de>>(mut members: Members<A>) -> Result<Self, A::Error> {
        let (mut one, mut other) = (None, None);
        while let Some(at) = members.next()? {
            match at {
                0 => members.read(&mut one)?,
                _ => members.read(&mut other)?,
            }
        }
        Ok(Pair {
            one: members.required(one, 0)?,
            other,
        })
    }
}

impl<'de, const IS_CLOSED: bool> Deserialize<'de> for Pair<IS_CLOSED> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object(deserializer)
    }
}

#[derive(Debug, PartialEq)]
struct Flag(bool);

impl std::str::FromStr for Flag {
    type Err = std::str::ParseBoolError;

    fn from_str(text: &str) -> Result<Flag, Self::Err> {
        text.parse().map(Flag)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Flag, D::Error> {
        text(deserializer)
    }
}

/// The value, or the error without its place.
fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        let told = error.to_string();
        told.rsplit_once(" at line")
            .map_or(told.clone(), |it| it.0.to_owned())
    })
}

#[test]
fn members_are_read_in_any_order_and_others_are_skipped_or_refused() {
    let both = Pair::<false> {
        one: 1,
        other: Some(Flag(true)),
    };
    assert_eq!(read(r#"{"one":1,"an other":"true"}"#), Ok(both));
    let both = Pair::<false> {
        one: 1,
        other: Some(Flag(true)),
    };
    let turned = r#"{"x":[{"one":2}],"an other":"true","y":null,"one":1}"#;
    assert_eq!(read(turned), Ok(both));
    assert_eq!(
        read(r#"{"one":1}"#),
        Ok(Pair::<true> {
            one: 1,
            other: None
        })
    );
    let refused = read::<Pair<true>>(turned).unwrap_err();
    assert_eq!(refused, "unknown field `x`, expected `one` or `an other`");
}

#[test]
fn what_does_not_fit_is_told() {
    let refused = |text| read::<Pair<false>>(text).unwrap_err();
    assert_eq!(refused("{}"), "missing field `one`");
    assert_eq!(refused(r#"{"one":1,"one":1}"#), "duplicate field `one`");
    let number = "invalid type: integer `1`, expected a string";
    assert_eq!(refused(r#"{"one":1,"an other":1}"#), number);
    let text = "provided string was not `true` or `false`";
    assert_eq!(refused(r#"{"one":1,"an other":"1"}"#), text);
    assert_eq!(
        refused("[1,\"true\"]"),
        "invalid type: sequence, expected an object"
    );
}

#[derive(Debug, PartialEq)]
struct Open {
    name: String,
    extra: BTreeMap<String, u8>,
}

impl<'de> Object<'de> for Open {
    const MEMBERS: &'static [&'static str] = &["name"];
    const IS_CLOSED: bool = false;
    const KEEPS_OTHERS: bool = true;

    fn of<A: MapAccess<'de>>(mut members: Members<A>) -> Result<Self, A::Error> {
        let (mut name, mut extra) = (None, BTreeMap::new());
        while let Some(at) = members.next()? {
            match at {
                0 => members.read(&mut name)?,
                _ => members.keep(&mut extra)?,
            }
        }
        Ok(Open {
            name: members.required(name, 0)?,
            extra,
        })
    }
}

impl<'de> Deserialize<'de> for Open {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object(deserializer)
    }
}

#[test]
fn other_members_are_kept_wherever_they_stand() {
    let open = |extra: &[(&str, u8)]| Open {
        name: "n".to_owned(),
        extra: extra.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect(),
    };
    for (text, extra) in [
        (r#"{"name":"n"}"#, &[][..]),
        (r#"{"b":2,"name":"n","a":1}"#, &[("a", 1), ("b", 2)]),
        (
            r#"{"":0,"name":"n","nam\u0065s":3}"#,
            &[("", 0), ("names", 3)],
        ),
    ] {
        assert_eq!(
            serde_json::from_str::<Open>(text).unwrap(),
            open(extra),
            "{text}"
        );
    }
}

#[test]
fn other_members_are_of_their_type_and_there_once() {
    for (text, refusal) in [
        (r#"{"a":1}"#, "missing field `name`"),
        (
            r#"{"name":"n","a":"1"}"#,
            "invalid type: string \"1\", expected u8",
        ),
        (r#"{"name":"n","a":1,"a":1}"#, "duplicate field `a`"),
        (r#"{"name":"n","a":1,"name":"n"}"#, "duplicate field `name`"),
    ] {
        let error = serde_json::from_str::<Open>(text).unwrap_err().to_string();
        assert!(error.starts_with(refusal), "{text}: {error}");
    }
}

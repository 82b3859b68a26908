//! Objects that keep the members that are no properties.

use std::collections::BTreeMap;

use openapi_dropshot_runtime::{Members, Object, object};
use serde::de::MapAccess;
use serde::{Deserialize, Deserializer};

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

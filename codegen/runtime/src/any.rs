//! Values of any kind, and members that may be absent.
//!
//! This file depends only on `serde` and `serde_json` (with `raw_value`), and names nothing else: the generated
//! client contains a copy of it if a document needs it.

use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON value of any kind, including null, kept as text: numbers stay as they were written, and members in
/// their order. Spacing is removed.
///
/// Two values are equal if their texts are.
#[derive(Clone)]
pub struct Any(Box<RawValue>);

impl Any {
    /// Returns a value as JSON.
    ///
    /// # Errors
    /// If the value has no JSON, such as a map whose keys are not texts.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Any, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Any)
    }

    /// Returns the value as a `T`.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn take<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// Returns the text, without spacing.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl Default for Any {
    /// Returns null.
    fn default() -> Any {
        Any(RawValue::NULL.to_owned())
    }
}

impl PartialEq for Any {
    fn eq(&self, other: &Any) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Any {}

impl std::fmt::Debug for Any {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Display for Any {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Any {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Any, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        match without_spacing(raw.get()) {
            None => Ok(Any(raw)),
            Some(text) => RawValue::from_string(text)
                .map(Any)
                .map_err(D::Error::custom),
        }
    }
}

/// Returns a JSON text without the spacing between its tokens; `None` if there is no such spacing.
fn without_spacing(text: &str) -> Option<String> {
    let (mut is_inside, mut is_escaped) = (false, false);
    let is_kept = |symbol: &char| {
        let space = !is_inside && matches!(*symbol, ' ' | '\t' | '\n' | '\r');
        is_inside ^= *symbol == '"' && !is_escaped;
        is_escaped = *symbol == '\\' && !is_escaped;
        !space
    };
    let kept: String = text.chars().filter(is_kept).collect();
    (kept.len() < text.len()).then_some(kept)
}

/// Reads a member that is present, for `deserialize_with`: null is a value, not absence.
pub fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::{Any, present};

    #[test]
    fn a_value_is_its_text_without_spacing() {
        let text =
            " { \"b\" : [ 1.10 , -0.0, 1e400, true , null ] ,\n\t\"a \\\" \\\\\" : \" x \" } ";
        let any: Any = serde_json::from_str(text).unwrap();
        let expected = r#"{"b":[1.10,-0.0,1e400,true,null],"a \" \\":" x "}"#;
        assert_eq!(any.as_str(), expected);
        assert_eq!(serde_json::to_string(&any).unwrap(), expected);
        assert_eq!(any, serde_json::from_str(expected).unwrap());
        assert_ne!(any, Any::default());
        assert_eq!(Any::default().to_string(), "null");
        assert_eq!(Any::of(&[1, 2]).unwrap().take::<Vec<u8>>().unwrap(), [1, 2]);
    }

    #[test]
    fn a_member_of_any_kind_may_be_null_and_may_be_absent() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Members {
            needed: Any,
            #[serde(default, deserialize_with = "present")]
            spare: Option<Any>,
            #[serde(default, deserialize_with = "present")]
            text: Option<String>,
        }
        let read = |text| serde_json::from_str::<Members>(text).ok();
        let null = Members {
            needed: Any::default(),
            spare: Some(Any::default()),
            text: None,
        };
        assert_eq!(read(r#"{"needed":null,"spare":null}"#), Some(null));
        assert_eq!(read(r#"{"needed":1}"#).map(|it| it.spare), Some(None));
        assert_eq!(read(r#"{"spare":1}"#), None);
        assert_eq!(read(r#"{"needed":1,"text":null}"#), None);
    }
}

//! The two published documents, embedded in the binary, as `invoicing openapi` prints and the server serves them: exactly
//! the files of `openapi/`, and the same as JSON.

use std::sync::LazyLock;

/// A published document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Document {
    /// The product catalog API, below /api/v1.
    Catalog,
    /// The mobile device-session API.
    Mobile,
}

impl Document {
    /// The document as it was written.
    pub(crate) fn yaml(self) -> &'static str {
        match self {
            Self::Catalog => include_str!("../openapi/catalog.yaml"),
            Self::Mobile => include_str!("../openapi/mobile.yaml"),
        }
    }

    /// The same document as JSON, its members in the order of the file.
    pub(crate) fn json(self) -> &'static str {
        static CATALOG: LazyLock<String> = LazyLock::new(|| to_json(Document::Catalog.yaml()));
        static MOBILE: LazyLock<String> = LazyLock::new(|| to_json(Document::Mobile.yaml()));
        match self {
            Self::Catalog => &CATALOG,
            Self::Mobile => &MOBILE,
        }
    }
}

fn to_json(yaml: &str) -> String {
    // Neither can fail: the documents are part of the binary, and a test reads both.
    let document: serde_json::Value = serde_saphyr::from_str(yaml).expect("the document is YAML");
    let mut json = serde_json::to_string_pretty(&document).expect("a JSON value can be written");
    json.push('\n');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_documents_are_the_same_in_yaml_and_json() {
        for (document, path) in [
            (Document::Catalog, "/api/v1/products"),
            (Document::Mobile, "/api/auth/mobile/token"),
        ] {
            let json: serde_json::Value = serde_json::from_str(document.json()).unwrap();
            let yaml: serde_json::Value = serde_saphyr::from_str(document.yaml()).unwrap();
            assert_eq!(json, yaml);
            assert!(json["paths"][path].is_object(), "{document:?}");
            assert!(
                document.json().starts_with("{\n  \"openapi\": \"3.0.3\""),
                "{document:?}"
            );
        }
    }
}

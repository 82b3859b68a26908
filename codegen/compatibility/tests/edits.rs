//! The table of edits: each with its verdict, its sentences and the version that it calls for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use openapi_dropshot_compatibility::{Comparison, Document, Severity, compare};
use serde::Deserialize;
use serde_json::Value;

/// Severity, sentence and whom it is for.
type Said = BTreeSet<(Severity, String, String)>;

const SHOP: &str = "tests/shop.yaml";
const EDITS: &str = "tests/edits.yaml";

fn read(file: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    openapi_dropshot::source(file).unwrap_or_else(|problem| panic!("{problem}"))
}

fn document(json: Value) -> Document {
    Document::new("shop.yaml", json).unwrap_or_else(|problem| panic!("{problem}"))
}

fn compared(old: &Value, new: &Value) -> Comparison {
    compare(&document(old.clone()), &document(new.clone()))
        .unwrap_or_else(|problem| panic!("{problem}"))
}

/// A row of the table; edits.yaml describes its members.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    case: String,
    #[serde(default)]
    remove: Vec<String>,
    #[serde(default)]
    set: BTreeMap<String, Value>,
    #[serde(default)]
    breaking: BTreeMap<String, String>,
    #[serde(default)]
    compatible: BTreeMap<String, String>,
    #[serde(default)]
    texts: Vec<String>,
    version: String,
}

impl Row {
    /// The document after the edit, each step of which changes something.
    fn edited(&self, shop: &Value) -> Value {
        let mut edited = shop.clone();
        for pointer in &self.remove {
            remove(&mut edited, pointer);
        }
        for (pointer, value) in &self.set {
            let before = edited.pointer(pointer);
            assert_ne!(before, Some(value), "{}: {pointer}", self.case);
            set(&mut edited, pointer, value.clone());
        }
        edited
    }

    /// What must be reported for the edit.
    fn expected(&self) -> Said {
        let said = |severity, changes: &BTreeMap<String, String>| {
            let changes = changes.iter();
            let changes = changes.map(|(what, whom)| (severity, what.clone(), whom.clone()));
            changes.collect::<Said>()
        };
        let texts = self.texts.iter().cloned();
        let mut expected = said(Severity::Breaking, &self.breaking);
        expected.append(&mut said(Severity::Compatible, &self.compatible));
        expected.extend(texts.map(|what| (Severity::Text, what, String::new())));
        expected
    }

    /// How the report differs from what it must be.
    fn wrong(&self, shop: &Value) -> Option<String> {
        let comparison = compared(shop, &self.edited(shop));
        let changes = comparison.changes.iter();
        let said: Said = changes
            .map(|it| {
                (
                    it.severity,
                    format!("{}: {}", it.subject, it.what),
                    it.whom.clone(),
                )
            })
            .collect();
        let called_for = comparison.called_for().to_string();
        let well = said == self.expected()
            && said.len() == comparison.changes.len()
            && called_for == self.version;
        (!well).then(|| format!("{}: {called_for} for {said:#?}", self.case))
    }
}

/// Removes the value at a JSON Pointer.
fn remove(json: &mut Value, pointer: &str) {
    let (parent, name) = parent(json, pointer);
    let there = match parent {
        Value::Object(members) => members.remove(&name).is_some(),
        Value::Array(items) => {
            let index = name.parse().unwrap_or(usize::MAX);
            (index < items.len()).then(|| items.remove(index)).is_some()
        }
        _ => false,
    };
    assert!(there, "nothing is at {pointer}");
}

/// Puts a value at a JSON Pointer, replacing the one there. An index past the end appends.
fn set(json: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = parent(json, pointer);
    match parent {
        Value::Array(items) => match name.parse::<usize>() {
            Ok(index) if index < items.len() => items[index] = value,
            _ => items.push(value),
        },
        object => object[name] = value,
    }
}

fn parent<'a>(json: &'a mut Value, pointer: &str) -> (&'a mut Value, String) {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer has a slash");
    let there = json.pointer_mut(parent);
    let there = there.unwrap_or_else(|| panic!("nothing is at {parent}"));
    (there, name.replace("~1", "/").replace("~0", "~"))
}

fn rows() -> (Value, Vec<Row>) {
    let rows = serde_json::from_value(read(EDITS));
    (
        read(SHOP),
        rows.unwrap_or_else(|error| panic!("{EDITS}: {error}")),
    )
}

#[test]
fn every_edit_gets_its_verdict() {
    let (shop, rows) = rows();
    let wrong: Vec<_> = rows.iter().filter_map(|row| row.wrong(&shop)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_is_long_and_no_case_is_twice_in_it() {
    let (_, rows) = rows();
    let cases: BTreeSet<_> = rows.iter().map(|row| row.case.as_str()).collect();
    assert_eq!(cases.len(), rows.len());
    assert!(rows.len() >= 40, "{} rows", rows.len());
    for severity in [Severity::Breaking, Severity::Compatible, Severity::Text] {
        let gravest = |row: &&Row| row.expected().iter().map(|it| it.0).max() == Some(severity);
        assert!(rows.iter().filter(gravest).count() > 5, "{severity:?}");
    }
}

#[test]
fn a_version_says_what_changed_from_the_one_called_for_and_no_earlier() {
    let (shop, rows) = rows();
    for row in rows {
        let said = |version: &str| {
            let mut edited = row.edited(&shop);
            edited["info"]["version"] = version.into();
            compared(&shop, &edited).is_said()
        };
        let versions = ["1.4.1", "1.4.2", "1.4.3", "1.5.0", "2.0.0"];
        let first = versions.into_iter().find(|version| said(version));
        assert_eq!(first, Some(row.version.as_str()), "{}", row.case);
        assert!(said("3.0.0"), "{}", row.case);
    }
}

/// The pointers of everything below a value.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let mut below = |name: &str, value: &Value| {
        let pointer = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        pointers(value, &pointer, found);
        found.push(pointer);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| below(name, value)),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, value)| below(&index.to_string(), value));
        }
        _ => {}
    }
}

#[test]
fn nothing_that_an_operation_meets_can_change_unseen() {
    let shop = read(SHOP);
    let mut all = Vec::new();
    pointers(&shop, "", &mut all);
    // One that no operation meets, and the version, which is not a change.
    let unmet = ["/components/securitySchemes/admin_key", "/info/version"];
    let mut unseen = Vec::new();
    for pointer in all
        .iter()
        .filter(|it| !unmet.iter().any(|unmet| it.starts_with(unmet)))
    {
        let mut removed = shop.clone();
        remove(&mut removed, pointer);
        let mut edits = vec![("removed", removed)];
        let mut changed = shop.clone();
        let value = changed
            .pointer_mut(pointer)
            .expect("the pointer is the document's");
        let other = match value {
            Value::Bool(flag) => Some(Value::Bool(!*flag)),
            Value::String(text) => Some(Value::String(format!("{text}x"))),
            Value::Number(number) => Some((number.as_i64().expect("a whole number") + 1).into()),
            // Its contents change in their own turn.
            _ => None,
        };
        if let Some(other) = other {
            *value = other;
            edits.push(("changed", changed));
        }
        for (edit, edited) in edits {
            // A document that becomes unreadable is noticed, too.
            let compared = Document::new("edited.yaml", edited)
                .and_then(|edited| compare(&document(shop.clone()), &edited));
            if compared.is_ok_and(|it| it.changes.is_empty()) {
                unseen.push(format!("{pointer} {edit}"));
            }
        }
    }
    assert!(all.len() > 300, "{} places", all.len());
    assert!(unseen.is_empty(), "{unseen:#?}");
}

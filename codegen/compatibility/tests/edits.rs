//! The table of edits: each with its verdict, its sentences and the version that it calls for.

use std::collections::BTreeSet;
use std::path::Path;

use compatibility::{Comparison, Document, Severity, compare};
use serde_json::{Map, Value};

const SHOP: &str = "tests/shop.yaml";
const EDITS: &str = "tests/edits.yaml";

fn read(file: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    codegen::source(file).unwrap_or_else(|problem| panic!("{problem}"))
}

fn document(json: Value) -> Document {
    Document::new("shop.yaml", json).unwrap_or_else(|problem| panic!("{problem}"))
}

fn compared(old: &Value, new: &Value) -> Comparison {
    compare(&document(old.clone()), &document(new.clone()))
        .unwrap_or_else(|problem| panic!("{problem}"))
}

/// The place that holds what a pointer leads to, and the pointer's last segment.
fn parent<'a>(json: &'a mut Value, pointer: &str) -> (&'a mut Value, String) {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer has a segment");
    let parent = json.pointer_mut(parent);
    let parent = parent.unwrap_or_else(|| panic!("{SHOP} has nothing that could hold {pointer}"));
    (parent, name.replace("~1", "/").replace("~0", "~"))
}

/// Puts a value somewhere; it must not be there already.
fn set(json: &mut Value, pointer: &str, value: &Value) {
    assert_ne!(
        json.pointer(pointer),
        Some(value),
        "{pointer} is that already"
    );
    match parent(json, pointer) {
        (Value::Object(members), name) => {
            members.insert(name, value.clone());
        }
        (Value::Array(items), name) if name == "-" => items.push(value.clone()),
        (Value::Array(items), name) => {
            items[name.parse::<usize>().expect("an index")] = value.clone();
        }
        _ => panic!("{pointer} is in no container"),
    }
}

/// Takes away what is somewhere; it must be there.
fn remove(json: &mut Value, pointer: &str) {
    let removed = match parent(json, pointer) {
        (Value::Object(members), name) => members.remove(&name),
        (Value::Array(items), name) => Some(items.remove(name.parse().expect("an index"))),
        _ => None,
    };
    assert!(removed.is_some(), "{SHOP} has nothing at {pointer}");
}

/// One row of the table.
struct Row {
    case: String,
    edited: Value,
    /// Severity, sentence and whom it is for.
    expected: BTreeSet<(Severity, String, String)>,
    version: String,
}

impl Row {
    fn of(row: &Value, shop: &Value) -> Self {
        let members = row.as_object().expect("a row has members");
        let known = [
            "case",
            "set",
            "remove",
            "breaking",
            "compatible",
            "texts",
            "version",
        ];
        for name in members.keys() {
            assert!(known.contains(&name.as_str()), "{EDITS}: what is `{name}`?");
        }
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let mut edited = shop.clone();
        let none = Map::new();
        let of = |name: &str| {
            members
                .get(name)
                .map_or(&none, |it| it.as_object().expect(name))
        };
        let listed = |name: &str| {
            members.get(name).map_or(Vec::new(), |it| {
                it.as_array().expect(name).iter().map(text).collect()
            })
        };
        for pointer in listed("remove") {
            remove(&mut edited, &pointer);
        }
        for (pointer, value) in of("set") {
            set(&mut edited, pointer, value);
        }
        let mut expected = BTreeSet::new();
        for (name, severity) in [
            ("breaking", Severity::Breaking),
            ("compatible", Severity::Compatible),
        ] {
            expected.extend(
                of(name)
                    .iter()
                    .map(|(what, whom)| (severity, what.clone(), text(whom))),
            );
        }
        expected.extend(
            listed("texts")
                .into_iter()
                .map(|what| (Severity::Text, what, String::new())),
        );
        Self {
            case: text(&row["case"]),
            edited,
            expected,
            version: text(&row["version"]),
        }
    }

    /// What is wrong with what is said of the edit.
    fn wrong(&self, shop: &Value) -> Option<String> {
        let comparison = compared(shop, &self.edited);
        let said: BTreeSet<_> = comparison
            .changes
            .iter()
            .map(|it| {
                (
                    it.severity,
                    format!("{}: {}", it.subject, it.what),
                    it.whom.clone(),
                )
            })
            .collect();
        let called_for = comparison.called_for().to_string();
        let well = said == self.expected
            && said.len() == comparison.changes.len()
            && called_for == self.version;
        (!well).then(|| format!("{}: {called_for} for {said:#?}", self.case))
    }
}

fn rows() -> (Value, Vec<Row>) {
    let shop = read(SHOP);
    let table = read(EDITS);
    let rows = table.as_array().expect("the table is a list").iter();
    let rows = rows.map(|row| Row::of(row, &shop)).collect();
    (shop, rows)
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
        let gravest = |row: &&Row| row.expected.iter().map(|it| it.0).max() == Some(severity);
        assert!(rows.iter().filter(gravest).count() > 5, "{severity:?}");
    }
}

#[test]
fn a_version_says_what_changed_from_the_one_called_for_and_no_earlier() {
    let (shop, rows) = rows();
    for row in rows {
        let said = |version: &str| {
            let mut edited = row.edited.clone();
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
    // What no operation meets, and the version, which is no change.
    let unmet = ["/components/securitySchemes/admin_key", "/info/version"];
    let mut unseen = Vec::new();
    for pointer in all
        .iter()
        .filter(|it| !unmet.iter().any(|unmet| it.starts_with(unmet)))
    {
        let mut without = shop.clone();
        remove(&mut without, pointer);
        let mut edits = vec![("removed", without)];
        let mut changed = shop.clone();
        let value = changed
            .pointer_mut(pointer)
            .expect("the pointer is the document's");
        let other = match value {
            Value::Bool(flag) => Some(Value::Bool(!*flag)),
            Value::String(text) => Some(Value::String(format!("{text}x"))),
            Value::Number(number) => Some((number.as_i64().expect("a whole number") + 1).into()),
            // What is in them changes in its own turn.
            _ => None,
        };
        if let Some(other) = other {
            *value = other;
            edits.push(("changed", changed));
        }
        for (edit, edited) in edits {
            // What makes it unreadable is seen as well.
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

//! Generated code follows the documents: the committed client is not stale, a limit that changes in a
//! document changes on both sides and nowhere else, and no operation can be left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use openapi_dropshot::Document;
use syn::{Item, TraitItem};
use test_support::document::{self, repository};

/// The import of every generated client; the client crate authenticates and retries with it.
const TRANSPORT: &str = "crate::transport::Transport";

/// The feature of the client crate that has the mocks.
const MOCK: &str = "mock";

/// A published document as text.
fn text(name: &str) -> String {
    let file = repository().join("openapi").join(format!("{name}.yaml"));
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// A document as the generator understands it.
fn parsed(name: &str, text: &str) -> Document {
    Document::parse(&format!("openapi/{name}.yaml"), text, name)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

/// The generated files of a folder.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let files =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files
        .map(|file| {
            let file = file.expect("the folder can be listed");
            let text = std::fs::read_to_string(file.path()).expect("the file can be read");
            (file.file_name().to_string_lossy().into_owned(), text)
        })
        .collect()
}

/// Lists the differences between committed files and the generator's output.
fn stale(committed: &BTreeMap<String, String>, made: &BTreeMap<String, String>) -> Vec<String> {
    let names: BTreeSet<_> = committed.keys().chain(made.keys()).cloned().collect();
    names
        .into_iter()
        .filter(|name| committed.get(name) != made.get(name))
        .collect()
}

/// The generator's output for the client, from the published documents.
fn client() -> BTreeMap<String, String> {
    let documents = ["catalog", "mobile"].map(|name| parsed(name, &text(name)));
    openapi_dropshot::client(&documents, Some(TRANSPORT), Some(MOCK))
        .unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn the_committed_client_is_what_the_generator_makes_now() {
    let committed = files(&repository().join("generated/src/openapi"));
    let stale = stale(&committed, &client());
    assert!(
        stale.is_empty(),
        "stale in generated/src/openapi: {stale:?}. Make them anew with `cargo generate-client`"
    );
}

#[test]
fn a_stale_a_missing_and_a_leftover_file_are_noticed() {
    let made = client();
    let mut committed = made.clone();
    committed
        .get_mut("catalog.rs")
        .expect("it is made")
        .push('\n');
    committed.remove("mobile.rs");
    committed.insert("old.rs".to_owned(), String::new());
    assert_eq!(
        stale(&committed, &made),
        ["catalog.rs", "mobile.rs", "old.rs"]
    );
}

/// Limits of the catalog: the text in the document, and its replacement. The texts around the numbers
/// make each unique in the document.
const LIMITS: [(&str, &str, &str); 3] = [
    (
        "    ProductName:\n      type: string\n      minLength: 1\n      maxLength: 255",
        "255",
        "254",
    ),
    (
        "    Amount:\n      type: number\n      minimum: 0\n      maximum: 1000000000000",
        "1000000000000",
        "999999999999",
    ),
    (
        "    Sku:\n      type: string\n      nullable: true\n      minLength: 1\n      maxLength: 100",
        "100",
        "99",
    ),
];

#[test]
fn a_limit_changed_in_the_document_changes_server_and_client_alone() {
    let published = text("catalog");
    for (place, old, new) in LIMITS {
        assert_eq!(published.matches(place).count(), 1, "{place}");
        let edited = published.replace(place, &place.replace(old, new));
        let (before, after) = (parsed("catalog", &published), parsed("catalog", &edited));
        let server = |document| {
            openapi_dropshot::server(document).unwrap_or_else(|problems| panic!("{problems}"))
        };
        only_limits_differ(&server(&before), &server(&after), old, new);
        let client = |document: Document| {
            openapi_dropshot::client(&[document], Some(TRANSPORT), Some(MOCK))
                .unwrap_or_else(|problems| panic!("{problems}"))["catalog.rs"]
                .clone()
        };
        only_limits_differ(&client(before), &client(after), old, new);
    }
}

/// Asserts that two texts differ, and only in lines that have `new` in place of `old`, at least one of
/// which is code.
#[track_caller]
fn only_limits_differ(before: &str, after: &str, old: &str, new: &str) {
    assert_eq!(before.lines().count(), after.lines().count());
    let changed: Vec<_> = before
        .lines()
        .zip(after.lines())
        .filter(|(before, after)| before != after)
        .collect();
    for (before, after) in &changed {
        assert_eq!(&before.replace(old, new), after);
    }
    let code = changed
        .iter()
        .any(|(before, _)| !before.trim_start().starts_with("//"));
    assert!(code, "{old} to {new} changes no code: {changed:?}");
}

#[test]
fn an_operation_that_is_not_implemented_does_not_compile() {
    for published in [document::catalog(), document::mobile()] {
        let module = openapi_dropshot::server(&parsed(&published.name, &text(&published.name)));
        let module = module.unwrap_or_else(|problems| panic!("{problems}"));
        let required = required_methods(&module);
        for operation in &published.operations {
            assert!(
                required.contains(&operation.id),
                "{} is no method that an implementor must write; those are {required:?}",
                operation.id
            );
        }
    }
}

/// The methods of the API trait without a default body: the compiler refuses an implementation that
/// lacks one of them.
fn required_methods(module: &str) -> Vec<String> {
    let file = syn::parse_file(module).expect("the generator writes Rust");
    let traits = file.items.into_iter().filter_map(|item| match item {
        Item::Trait(item) => Some(item),
        _ => None,
    });
    traits
        .flat_map(|item| item.items)
        .filter_map(|item| match item {
            TraitItem::Fn(method) if method.default.is_none() => Some(method.sig.ident.to_string()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_method_with_a_body_of_its_own_is_not_required() {
    let module = "pub trait Api { fn a(); fn b() {} }";
    assert_eq!(required_methods(module), ["a"]);
}

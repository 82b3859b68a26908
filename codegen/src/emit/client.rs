//! The client: one module per document, and what they share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::model::{Pointer, Schema};
use crate::{Document, Problem, Problems};

use super::patch::Shared;
use super::types::{self, Side};
use super::{bodies, paths};

/// What client and server share by copying, so that the client has no dependency on this project. In this package, these are
/// symbolic links to the runtime's files, which `cargo package` follows.
const SHARED: [(&str, &str); 4] = [
    ("decimal.rs", include_str!("../client/decimal.rs")),
    ("field.rs", include_str!("../client/field.rs")),
    ("newtype.rs", include_str!("../client/newtype.rs")),
    ("time.rs", include_str!("../client/time.rs")),
];

/// Also shared if a document enumerates texts.
const CHOICE: (&str, &str) = ("choice.rs", include_str!("../client/choice.rs"));

/// Also shared if a document has values of any kind.
const OPEN: (&str, &str) = ("any.rs", include_str!("../client/any.rs"));

/// Also shared if an object keeps members beyond its properties.
const OBJECT: (&str, &str) = ("object.rs", include_str!("../client/object.rs"));

/// For clients with a form that needs it.
const FORM: (&str, &str) = ("form.rs", include_str!("../client/form.rs"));

/// For clients with a text in a path.
const PATH: (&str, &str) = ("path.rs", include_str!("../client/path.rs"));

/// What the modules of documents import from their parent module, for each file beside them.
const USED: [(&str, &str); 8] = [
    ("any", "pub use any::Any;"),
    ("any", "#[doc(hidden)]\npub use any::present;"),
    ("choice", "use choice::none_of;"),
    ("decimal", "pub use decimal::{Decimal, DecimalError};"),
    ("field", "pub use field::Field;"),
    (
        "newtype",
        "#[allow(unused_imports)] // Not every document has use for each.\n\
         use newtype::{impl_checked_text, impl_conversions, impl_number, impl_text};",
    ),
    (
        "object",
        "#[doc(hidden)]\npub use object::{Members, Object, object};",
    ),
    (
        "time",
        "pub use time::{is_writable, parse_rfc3339, rfc3339};",
    ),
];

/// Lints that generated code cannot satisfy: not every builder method is documented, and links in texts written for other
/// readers may not resolve.
const LENIENCE: &str = "#[allow(
    missing_docs,
    clippy::all,
    rustdoc::bare_urls,
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    unused_imports,
    unused_mut
)]
#[rustfmt::skip] // As the generator prints it.
";

/// See [`crate::client`].
pub(crate) fn modules(
    documents: &[Document],
    inner: Option<&str>,
    mock: Option<&str>,
) -> Result<BTreeMap<String, String>, Problems> {
    let mut modules = BTreeMap::new();
    check_modules(documents, mock.is_some())?;
    if mock.is_some() {
        for document in documents {
            let (name, text) = mock_module(document)?;
            modules.insert(name, text);
        }
    }
    for document in documents {
        let mut file = types::file(document, Side::Client { inner }, &Shared::Parent)?;
        super::doc::tidy(&mut file);
        let head = format!(
            "//! Client for {} {}.\n//!\n//! {}\n\n",
            document.title,
            document.version,
            origin(&document.file)
        );
        modules.insert(
            format!("{}.rs", document.module),
            super::doc::visible(&(head + &prettyplease::unparse(&file))),
        );
    }
    let shared = SHARED
        .into_iter()
        .chain(has_choice(&modules).then_some(CHOICE))
        .chain(is_open(documents).then_some(OPEN))
        .chain(has_others(documents).then_some(OBJECT));
    let shared = shared.map(|file| ("codegen/runtime/src", file));
    let own = [
        has_form(documents).then_some(FORM),
        has_path(documents).then_some(PATH),
    ];
    let own = own.into_iter().flatten();
    let own = own.map(|file| ("codegen/src/client", file));
    let beside: Vec<_> = shared.chain(own).collect();
    let root = root(
        documents,
        inner,
        mock,
        beside.iter().map(|(_, file)| file.0),
    );
    for (folder, (name, text)) in beside {
        let origin = origin(&format!("{folder}/{name}"));
        modules.insert(name.to_owned(), format!("// {origin}\n\n{}", copied(text)));
    }
    modules.insert("mod.rs".to_owned(), root);
    Ok(modules)
}

/// The text of a shared file, adapted for an unknown crate. Its examples are tested at the origin: the path they would have
/// to name is unknown here. Its macros serve only the modules of that crate, which need not use each of them.
fn copied(text: &str) -> String {
    let (mut copy, mut in_example, mut lines) = (String::new(), false, text.lines().peekable());
    while let Some(line) = lines.next() {
        let comment = line.trim_start();
        if comment.starts_with("#[doc = concat!(\"use \", env!(\"CARGO_CRATE_NAME\")") {
            lines.next_if(|next| next.trim() == "///");
            continue;
        }
        copy.push_str(match line {
            "#[macro_export]" => "#[allow(unused_macros)]",
            _ => line,
        });
        if comment.starts_with("/// ```") {
            in_example = !in_example;
            if in_example && comment == "/// ```" {
                copy.push_str("ignore");
            }
        }
        copy.push('\n');
    }
    copy
}

/// Whether a generated text lists the alternatives for a text that is none of them.
fn has_choice(modules: &BTreeMap<String, String>) -> bool {
    modules.values().any(|text| text.contains("::none_of("))
}

/// Whether a document has values of any kind, or alternatives that are told apart by trial.
fn is_open(documents: &[Document]) -> bool {
    let any = |document: &Document| {
        let mut schemas = document.schemas.values();
        schemas.any(Schema::has_any) || !document.tried().is_empty()
    };
    documents.iter().any(any)
}

/// Whether a document has an object that keeps members beyond its properties.
fn has_others(documents: &[Document]) -> bool {
    let mut schemas = documents.iter().flat_map(|it| it.schemas.values());
    schemas.any(|it| it.fields().1.is_some())
}

/// Whether a document has a form whose members are more than single values.
fn has_form(documents: &[Document]) -> bool {
    let mut operations = documents.iter().flat_map(|document| {
        let operations = document.operations.iter();
        operations.map(move |operation| (document, operation))
    });
    operations.any(|(document, it)| bodies::json_of_form(document, it).is_some())
}

/// Whether a document has a text in a path that could be lost.
fn has_path(documents: &[Document]) -> bool {
    documents.iter().any(paths::may_lose)
}

/// The file name of a document's mock, and its text.
fn mock_module(document: &Document) -> Result<(String, String), Problems> {
    let mut file = types::mock(document)?;
    super::doc::tidy(&mut file);
    let head = format!(
        "//! A server for tests that answers as {} {} says, by `httpmock`.\n//!\n//! {}\n\n",
        document.title,
        document.version,
        origin(&document.file)
    );
    let name = format!("{}_mock.rs", document.module);
    let text = head + &prettyplease::unparse(&file);
    Ok((name, super::doc::visible(&text)))
}

/// Refuses documents that would become the same module, or the module of another's mock: the later of the two.
pub(crate) fn check_modules<'a>(
    documents: impl IntoIterator<Item = &'a Document>,
    mocks: bool,
) -> Result<(), Problems> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for document in documents {
        let mock = mocks.then(|| format!("{}_mock", document.module));
        for module in std::iter::once(document.module.clone()).chain(mock) {
            let cause = format!("becomes the module `{module}`, too");
            if let Some(other) = seen.insert(module, &document.file) {
                found.push(Problem {
                    file: document.file.clone(),
                    pointer: Pointer::default(),
                    cause: format!("{other} {cause}"),
                    remedy: "rename one of the files".to_owned(),
                });
            }
        }
    }
    Problems::new(found).map_or(Ok(()), Err)
}

fn origin(source: &str) -> String {
    format!("Generated by `openapi-dropshot` from `{source}`. Do not edit: see `mod.rs`.")
}

/// The root module: its documentation, a `mod` for each file beside it, and what the others use of these.
fn root<'a>(
    documents: &[Document],
    inner: Option<&str>,
    mock: Option<&str>,
    beside: impl Iterator<Item = &'a str>,
) -> String {
    let option = |name, value: Option<&str>| {
        value.map_or(String::new(), |value| format!("--{name} {value} "))
    };
    let options = option("inner", inner) + &option("mock", mock);
    let files: Vec<_> = documents.iter().map(|it| it.file.as_str()).collect();
    let mut text = format!(
        "//! What the published documents say, as Rust: generated, never edited.\n//!\n\
         //! To make it anew after a change of a document, where `FOLDER` is the one of this file:\n//!\n//! ```text\n\
         //! openapi-dropshot client --out FOLDER {options}{}\n//! ```\n\n",
        files.join(" ")
    );
    // Writing to a string cannot fail.
    for document in documents {
        let _ = writeln!(text, "{LENIENCE}pub mod {};", document.module);
        if let Some(feature) = mock {
            let gate = format!("#[cfg(feature = \"{feature}\")]\n{LENIENCE}");
            let _ = writeln!(text, "{gate}pub mod {}_mock;", document.module);
        }
    }
    let beside: BTreeSet<&str> = beside.map(|it| it.trim_end_matches(".rs")).collect();
    for module in &beside {
        let _ = writeln!(text, "mod {module};");
    }
    text.push('\n');
    for (module, used) in USED {
        if beside.contains(module) {
            let _ = writeln!(text, "{used}");
        }
    }
    text
}

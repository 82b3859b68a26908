//! A service that implements a generated trait and does nothing: enough to be registered.

use std::collections::BTreeSet;
use std::fmt::Write;

use openapi_dropshot::{Document, names};

/// Returns the implementation, to be placed beside `mod server`.
pub fn text(document: &Document) -> String {
    let api = names::of_type(&document.module);
    let mut text = format!(
        "use crate::server::*;\n\
         type Context = dropshot::RequestContext<()>;\n\
         type Operation = openapi_dropshot_runtime::Operation;\n\
         pub enum Stub {{}}\n\
         impl {api}Api for Stub {{\n type Context = ();\n type Error = ();\n"
    );
    let used = document.operations.iter();
    let schemes: BTreeSet<String> = used.filter_map(|it| it.admission()).collect();
    for scheme in schemes {
        let (name, method) = (names::of_type(&scheme), names::value(&scheme));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "type {name} = ();\n async fn {method}(_: &Context, _: &'static Operation) \
             -> Result<openapi_dropshot_runtime::Admitted<()>, ()> {{ unreachable!() }}"
        );
    }
    let errors = document.error_schemas().into_iter();
    let mut errors: Vec<_> = errors
        .map(|it| {
            (
                document.error_hook(&it),
                format!("types::{}", names::of_type(&it)),
            )
        })
        .collect();
    if document
        .operations
        .iter()
        .any(|it| it.error_schema().is_none())
    {
        errors.push(("unlisted".to_owned(), "()".to_owned()));
    }
    for (method, name) in errors {
        let _ = writeln!(
            text,
            "fn {method}(_: &Context, _: &'static Operation, _: openapi_dropshot_runtime::Rejection<()>) \
             -> openapi_dropshot_runtime::ErrorAnswer<{name}> {{ unreachable!() }}"
        );
    }
    for operation in &document.operations {
        let (function, stem) = (operation.function(), operation.stem());
        let caller = operation.admission().map_or("", |_| "_: (), ");
        let _ = writeln!(
            text,
            "async fn {function}(_: &Context, {caller}_: openapi_dropshot_runtime::Unchecked<{stem}Request>) \
             -> Result<{stem}Answer, openapi_dropshot_runtime::Rejection<()>> {{ unreachable!() }}"
        );
    }
    text + "}\n"
}

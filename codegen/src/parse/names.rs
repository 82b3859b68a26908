//! Refuses names that would collide or break in Rust.
//!
//! Each function checks the names of one scope, as Rust will see them: of two that become the same, the second
//! is refused, and so are names that would shadow what generated code relies on.

use std::collections::{HashMap, HashSet};

use crate::model::{Location, Operation, Pointer, error_hook, one_of_bodies};
use crate::names::{is_phrase, is_plain, of_type, value};

use super::graph::Schemas;
use super::reader::{Place, Reader};

/// Names that generated code, or a derived implementation in it, uses unqualified.
pub(super) const PRELUDE: &[&str] = &[
    "Box", "Default", "Err", "From", "None", "Ok", "Option", "Result", "Self_", "Some", "String",
    "Vec",
];

/// The functions that the client and the server's trait have besides the operations.
const TAKEN_FUNCTIONS: &[&str] = &[
    "answered",
    "api_version",
    "baseurl",
    "client",
    "exec",
    "failure",
    "inner",
    "new",
    "new_with_client",
    "operations",
    "paths",
    "post",
    "pre",
    "public",
    "register",
    "unlisted",
];

/// The stems used around the client's builders, which are named after operations.
const TAKEN_STEMS: &[&str] = &[
    "ByteStream",
    "ClientHooks",
    "ClientInfo",
    "Error",
    "OperationInfo",
    "RequestBuilderExt",
    "ResponseValue",
];

/// The associated types of the server's trait besides those of the security schemes.
const TAKEN_TYPES: &[&str] = &["Context", "Error"];

/// The methods and fields of builders and requests besides the parameters.
const TAKEN_PARAMETERS: &[&str] = &["body", "body_map", "client", "header_map", "new", "send"];

/// The names of one scope.
struct Scope<'r, 'a> {
    reader: &'r Reader<'a>,
    /// What the names are called in problems: `property`.
    what: &'static str,
    taken: &'static [&'static str],
    plain: fn(&str) -> bool,
    seen: HashMap<String, String>,
}

impl<'r, 'a> Scope<'r, 'a> {
    fn new(reader: &'r Reader<'a>, what: &'static str, taken: &'static [&'static str]) -> Self {
        Self {
            reader,
            what,
            taken,
            plain: is_plain,
            seen: HashMap::new(),
        }
    }

    fn add(&mut self, name: &str, to_rust: fn(&str) -> String, pointer: &Pointer) {
        let what = self.what;
        if !(self.plain)(name) {
            self.reader.refuse(
                pointer,
                format!("the {what} name `{name}` cannot become a name of Rust"),
                "begin with a letter A-Z or a-z, and go on with letters and digits, \
                 and one `_`, `-` or `.` between words",
            );
            return;
        }
        let rust = to_rust(name);
        if self.taken.contains(&rust.as_str()) {
            self.reader.refuse(
                pointer,
                format!("the {what} name `{name}` becomes `{rust}` in Rust, which means something else there"),
                "choose another name",
            );
        }
        if let Some(other) = self.seen.insert(rust.clone(), name.to_owned()) {
            self.reader.refuse(
                pointer,
                format!("the {what} names `{other}` and `{name}` both become `{rust}` in Rust"),
                "change one of them",
            );
        }
    }
}

pub(super) fn check_components(reader: &Reader<'_>, schemas: &Place<'_>) {
    let mut scope = Scope::new(reader, "component", PRELUDE);
    schemas
        .members()
        .for_each(|(name, place)| scope.add(name, of_type, &place.pointer));
}

/// Values of an enumeration get generated names ([`crate::names::variants`]); each may occur only once.
pub(super) fn check_variants(reader: &Reader<'_>, values: &[(String, Pointer)]) {
    let mut seen = HashSet::new();
    for (value, pointer) in values {
        if !seen.insert(value) {
            reader.refuse(
                pointer,
                format!("`{value}` is listed twice"),
                "list it once",
            );
        }
    }
}

/// Checks operations, security schemes and error bodies: each becomes a function of the trait.
pub(super) fn check_functions(reader: &Reader<'_>, operations: &[Operation], schemes: &Place<'_>) {
    let mut scope = Scope::new(reader, "operation", TAKEN_FUNCTIONS);
    // An id is not used as a name elsewhere, and may be several words.
    scope.plain = is_phrase;
    let mut errors: Vec<String> = operations
        .iter()
        .filter_map(Operation::error_schema)
        .collect();
    errors.sort_unstable();
    errors.dedup();
    for name in errors {
        let hook = error_hook(operations, &name);
        scope.seen.insert(hook, name);
    }
    for operation in operations {
        let pointer = operation.pointer.child("operationId");
        scope.add(&operation.id, value, &pointer);
        let stem = operation.stem();
        if PRELUDE.contains(&stem.as_str()) || TAKEN_STEMS.contains(&stem.as_str()) {
            reader.refuse(
                &pointer,
                format!("the operation's builder would be called `{stem}`, which means something else there"),
                "choose another name",
            );
        }
        parameters(reader, operation);
    }
    scope.what = "security scheme";
    scope.plain = is_plain;
    for (name, place) in schemes.members() {
        scope.add(name, value, &place.pointer);
        check_caller(reader, name, &place.pointer);
    }
    // A single scheme has its own name; several have a hook named after all of them.
    scope.plain = |_| true;
    let mut several: HashMap<String, &Operation> = HashMap::new();
    for operation in operations {
        let schemes = operation.security.iter().flatten().count();
        if (schemes > 1 || operation.security.len() > 1)
            && let Some(name) = operation.admission()
        {
            several.entry(name).or_insert(operation);
        }
    }
    for (name, operation) in several {
        let pointer = operation.pointer.child("security");
        if !schemes.members().any(|(scheme, _)| scheme == name) {
            scope.add(&name, value, &pointer);
        }
        check_caller(reader, &name, &pointer);
    }
}

/// Checks the types of responses with several bodies, which are named after those.
pub(super) fn check_answers(reader: &Reader<'_>, schemas: &Schemas, operations: &[Operation]) {
    let sets = operations.iter().flat_map(|it| {
        let sets = [(it, it.success_bodies()), (it, it.error_bodies())];
        sets.into_iter().filter(|(_, bodies)| bodies.len() > 1)
    });
    let mut named = HashMap::new();
    for (operation, bodies) in sets {
        let name = one_of_bodies(&bodies).unwrap_or_default();
        let rust = of_type(&name);
        let other = schemas.keys().find(|it| of_type(it) == rust);
        let nothing = bodies.iter().flatten().find(|it| of_type(it) == "Nothing");
        let same = named.entry(rust).or_insert_with(|| bodies.clone());
        let cause = match (other, nothing) {
            (Some(other), _) => {
                format!("the component `{other}` is called like `{name}`, the answers")
            }
            (None, Some(nothing)) if bodies.contains(&None) => {
                format!("the component `{nothing}` is called like answers without a body")
            }
            _ if *same != bodies => {
                format!(
                    "`{name}`, the answers, are called like those of other components elsewhere"
                )
            }
            _ => continue,
        };
        reader.refuse(
            &operation.pointer.child("responses"),
            cause,
            "choose another name for the component",
        );
    }
}

/// Refuses security schemes whose caller type would collide with another type of the trait.
fn check_caller(reader: &Reader<'_>, name: &str, pointer: &Pointer) {
    if TAKEN_TYPES.contains(&of_type(name).as_str()) {
        reader.refuse(
            pointer,
            format!("the trait has another type `{}` already", of_type(name)),
            "choose another name",
        );
    }
}

fn parameters(reader: &Reader<'_>, operation: &Operation) {
    let mut scope = Scope::new(reader, "parameter", TAKEN_PARAMETERS);
    for parameter in &operation.parameters {
        scope.add(&parameter.name, value, &parameter.pointer);
    }
    let headers = operation
        .parameters
        .iter()
        .filter(|it| it.location == Location::Header);
    check_case(reader, headers.map(|it| (it.name.as_str(), &it.pointer)));
}

/// Checks the headers of one response.
pub(super) fn check_headers(reader: &Reader<'_>, headers: &Place<'_>) {
    let mut scope = Scope::new(reader, "header", &["body", "headers", "media_type", "new"]);
    let headers: Vec<_> = headers.members().collect();
    for (name, place) in &headers {
        scope.add(name, value, &place.pointer);
        if value(name)
            .strip_prefix("status_")
            .is_some_and(|it| it.parse::<u16>().is_ok())
        {
            reader.refuse(
                &place.pointer,
                format!("the header `{name}` is called like what chooses a status of the answer"),
                "choose another name",
            );
        }
    }
    check_case(
        reader,
        headers.iter().map(|(name, place)| (*name, &place.pointer)),
    );
}

/// Refuses header names that differ only in case: to HTTP they are the same.
fn check_case<'n>(reader: &Reader<'_>, names: impl Iterator<Item = (&'n str, &'n Pointer)>) {
    let mut seen = HashMap::new();
    for (name, pointer) in names {
        if let Some(other) = seen.insert(name.to_ascii_lowercase(), name)
            && value(other) != value(name)
        {
            reader.refuse(
                pointer,
                format!("the headers `{other}` and `{name}` are the same to HTTP"),
                "remove one of them",
            );
        }
    }
}

/// Checks the name of the document's module. In a client, it is beside the modules that all clients have.
pub(super) fn check_module(reader: &Reader<'_>, module: &str) {
    let mut scope = Scope::new(
        reader,
        "module",
        &[
            "any", "choice", "decimal", "field", "form", "newtype", "object", "path", "time",
        ],
    );
    scope.add(module, value, &Pointer::default());
}

//! Operations: their parameters, their body, and their security.

use indexmap::IndexMap;
use serde_json::Value;

use crate::model::{
    Body, Content, Location, Method, Operation, OrNull, Parameter, Required, Response, Schema,
    SecurityScheme, Tag,
};
use crate::names::part;

use super::answer;
use super::content;
use super::paths::Tree;
use super::reader::{Keywords, Place, Reader};
use super::schema;
use super::security;

/// dropshot's mark for an operation whose connection becomes a websocket.
pub(super) const WEBSOCKET: &str = "x-dropshot-websocket";

const PATH_ITEM: Keywords = Keywords::new(
    "a path",
    &[
        "get",
        "put",
        "post",
        "patch",
        "delete",
        "head",
        "parameters",
    ],
    &["summary", "description"],
);
const OPERATION: Keywords = Keywords::new(
    "an operation",
    &[
        "operationId",
        "tags",
        "parameters",
        "requestBody",
        "responses",
        "deprecated",
        "security",
        WEBSOCKET,
    ],
    &["summary", "description", "externalDocs"],
);
const PARAMETER: Keywords = Keywords::new(
    "a parameter",
    &["name", "in", "required", "schema", "style", "explode"],
    &["description", "deprecated", "example", "examples"],
);
const METHODS: &[(&str, Method)] = &[
    ("get", Method::Get),
    ("put", Method::Put),
    ("post", Method::Post),
    ("patch", Method::Patch),
    ("delete", Method::Delete),
    ("head", Method::Head),
];

/// What operations share.
pub(super) struct Shared<'a> {
    pub(super) tags: &'a IndexMap<String, Tag>,
    pub(super) schemes: &'a IndexMap<String, SecurityScheme>,
    /// The security of operations that do not state their own.
    pub(super) security: Vec<Vec<Required>>,
}

/// Reads all operations, in the document's order.
pub(super) fn all(reader: &Reader<'_>, paths: &Place<'_>, shared: &Shared<'_>) -> Vec<Operation> {
    let mut tree = Tree::default();
    let mut operations: Vec<Operation> = Vec::new();
    for (path, item) in paths.members() {
        let variables = tree.add(reader, path, &item.pointer);
        let Some(item) = reader.object(item, &PATH_ITEM) else {
            continue;
        };
        for (name, place) in item.members() {
            let known = METHODS.iter().find(|(method, _)| *method == name);
            let Some(&(_, method)) = known else { continue };
            let route = Route {
                path,
                method,
                variables: variables.as_deref(),
                item: &item,
            };
            let Some(operation) = one(reader, place, &route, shared) else {
                continue;
            };
            if let Some(other) = operations.iter().find(|it| it.id == operation.id) {
                reader.refuse(
                    &operation.pointer.child("operationId"),
                    format!(
                        "`{}` is the operationId of {}, too",
                        operation.id, other.pointer
                    ),
                    "give each operation its own",
                );
                continue;
            }
            operations.push(operation);
        }
    }
    operations
}

/// The place of an operation.
struct Route<'r, 'a> {
    path: &'r str,
    method: Method,
    /// The variables of the path, if it can be read.
    variables: Option<&'r [&'a str]>,
    item: &'r Place<'a>,
}

fn one<'a>(
    reader: &Reader<'a>,
    place: Place<'a>,
    route: &Route<'_, 'a>,
    shared: &Shared<'_>,
) -> Option<Operation> {
    let place = reader.object(place, &OPERATION)?;
    let id = reader.text(&place, "operationId");
    if id.is_none() {
        reader.refuse(
            &place.pointer,
            "the operation has no operationId",
            "write one: its function is named after it",
        );
    }
    // An operation without an id has been refused, so its names do not matter.
    let stem = id.as_deref().unwrap_or("operation");
    let parameters = parameters(reader, &place, route, stem);
    let body = body(reader, &place, stem);
    let answers = answer::all(reader, &place, route.method, stem);
    let security = security::required(reader, &place, shared.schemes, shared.security.clone());
    let tags = tags(reader, &place, shared.tags);
    let answers = answers?;
    check_websocket(reader, &place, route.method, &answers.success);
    Some(Operation {
        id: id?,
        method: route.method,
        path: route.path.to_owned(),
        summary: reader.text(&place, "summary"),
        description: reader.text(&place, "description"),
        tags,
        deprecated: reader.flag(&place, "deprecated"),
        security,
        parameters: parameters?,
        body: body?,
        success: answers.success,
        further: answers.further,
        errors: answers.errors,
        pointer: place.pointer,
    })
}

fn tags(reader: &Reader<'_>, place: &Place<'_>, known: &IndexMap<String, Tag>) -> Vec<String> {
    let tags = reader.texts(place, "tags");
    // A document that declares no tags names them where it uses them.
    let declared = |tag: &String| known.is_empty() || known.contains_key(tag);
    for (tag, pointer) in tags.iter().filter(|(tag, _)| !declared(tag)) {
        reader.refuse(
            pointer,
            format!("the tag `{tag}` is not declared"),
            "write it under `tags`, at the top of the document",
        );
    }
    tags.into_iter().map(|(tag, _)| tag).collect()
}

/// Reads the parameters of the path item and of the operation, and checks them against the variables of
/// the path.
fn parameters<'a>(
    reader: &Reader<'a>,
    place: &Place<'a>,
    route: &Route<'_, 'a>,
    stem: &str,
) -> Option<Vec<Parameter>> {
    let mut parameters: Vec<Parameter> = Vec::new();
    let mut whole = true;
    for holder in [route.item, place] {
        let Some(list) = holder.get("parameters") else {
            continue;
        };
        reader.expect(&list, "a list", Value::as_array);
        for item in list.items() {
            match parameter(reader, item, stem) {
                Some(parameter) => parameters.push(parameter),
                None => whole = false,
            }
        }
    }
    for parameter in &parameters {
        if parameter.location == Location::Path
            && let Some(variables) = route.variables
            && !variables.contains(&parameter.name.as_str())
        {
            reader.refuse(
                &parameter.pointer,
                format!(
                    "the path `{}` has no variable `{}`",
                    route.path, parameter.name
                ),
                format!(
                    "write `{{{}}}` in the path, or remove the parameter",
                    parameter.name
                ),
            );
        }
    }
    let described = |name: &str| {
        parameters
            .iter()
            .any(|it| it.location == Location::Path && it.name == name)
    };
    for variable in route
        .variables
        .into_iter()
        .flatten()
        .filter(|variable| whole && !described(variable))
    {
        reader.refuse(
            &place.pointer,
            format!("the variable `{variable}` of the path is not described"),
            "write a parameter of this name with `in: path`",
        );
    }
    whole.then_some(parameters)
}

/// Where a parameter is sent.
fn location<'a>(reader: &Reader<'a>, place: &Place<'a>) -> Option<Location> {
    let (cause, remedy) = match reader.required_text(place, "in")?.as_str() {
        "path" => return Some(Location::Path),
        "query" => return Some(Location::Query),
        "header" => return Some(Location::Header),
        "cookie" => (
            "dropshot publishes no parameter in `cookie`".to_owned(),
            "write a security scheme `apiKey` in `cookie` if it is a credential, else `query` or `header`",
        ),
        other => (
            format!("a parameter in `{other}` is not understood"),
            "write `path`, `query` or `header`",
        ),
    };
    reader.refuse(&place.pointer.child("in"), cause, remedy);
    None
}

/// Reads one parameter, wherever it is defined. `whole` is what it is a part of.
pub(super) fn parameter<'a>(
    reader: &Reader<'a>,
    place: Place<'a>,
    whole: &str,
) -> Option<Parameter> {
    let place = reader.follow(place, "parameters")?;
    let place = reader.object(place, &PARAMETER)?;
    answer::examples(reader, &place);
    let name = reader.required_text(&place, "name");
    let location = location(reader, &place)?;
    let name = name?;
    if location == Location::Header && !is_credential(reader, &name) {
        answer::check_header_name(reader, &name, &place.pointer);
    }
    check_style(reader, &place, location);
    let required = reader.flag(&place, "required");
    if location == Location::Path && !required {
        reader.refuse(
            &place.pointer,
            "a parameter in a path is always there",
            "write `required: true`",
        );
    }
    let Some(schema) = place.get("schema") else {
        reader.missing(&place, "schema");
        return None;
    };
    let schema = schema::inline(reader, schema, &part(whole, &name))?;
    Some(Parameter {
        name,
        location,
        required,
        description: reader.text(&place, "description"),
        schema: Schema {
            // No text is null.
            nullable: false,
            ..schema
        },
        pointer: place.pointer,
    })
}

/// Whether this is the header of the credential in a document that has no security schemes: then it is an
/// ordinary header, which handlers read.
fn is_credential(reader: &Reader<'_>, name: &str) -> bool {
    let components = reader.root().get("components");
    let schemes = components.and_then(|it| it.get("securitySchemes"));
    name.eq_ignore_ascii_case("authorization") && schemes.is_none()
}

/// `style` and `explode` say how lists and objects are written, and there are none here. The default is
/// accepted, since it means the same as leaving them out.
pub(super) fn check_style(reader: &Reader<'_>, place: &Place<'_>, location: Location) {
    let usual = match location {
        Location::Query => "form",
        Location::Path | Location::Header => "simple",
    };
    let style = reader.text(place, "style");
    if style.is_some_and(|style| style != usual) {
        reader.refuse(
            &place.pointer.child("style"),
            "the parameter is not written the usual way of its place",
            format!("write `{usual}`, or remove it"),
        );
    }
    reader.flag(place, "explode");
}

/// A response of 101 makes the connection a websocket, so the request must be a GET without a body (RFC
/// 6455, section 4.1).
fn check_websocket(reader: &Reader<'_>, place: &Place<'_>, method: Method, success: &Response) {
    if let Some(mark) = place.get(WEBSOCKET)
        && !success.is_upgrade()
    {
        reader.refuse(
            &mark.pointer,
            "the operation of a websocket does not answer 101",
            "write `101` as its success, or remove the mark",
        );
    }
    if success.is_upgrade() && (method != Method::Get || place.get("requestBody").is_some()) {
        reader.refuse(
            &place.pointer,
            "only a GET request without a body opens a websocket",
            "write `get` without `requestBody`, or another success than 101",
        );
    }
}

/// Reads the request body, if there is one; `None` if it was refused.
#[allow(clippy::option_option)] // Refused, absent and there are three things.
fn body<'a>(reader: &Reader<'a>, place: &Place<'a>, stem: &str) -> Option<Option<Body>> {
    let Some(body) = place.get("requestBody") else {
        return Some(None);
    };
    Some(Some(request_body(reader, body, &part(stem, "body"))?))
}

/// Reads a request body, wherever it is defined; `name` is for its schema, if that has no name.
pub(super) fn request_body<'a>(reader: &Reader<'a>, place: Place<'a>, name: &str) -> Option<Body> {
    const REQUEST_BODY: Keywords =
        Keywords::new("a request body", &["required", "content"], &["description"]);
    let place = reader.follow(place, "requestBodies")?;
    let place = reader.object(place, &REQUEST_BODY)?;
    let required = reader.flag(&place, "required");
    let (content, null) = content::all(reader, &place, content::Side::Request, name)?;
    if !required && null != OrNull::Never {
        reader.refuse(
            &place.pointer,
            "a body that may be left out, and null besides, is not understood",
            "write `required: true`, or remove `nullable`",
        );
    }
    if !required && !matches!(content, Content::Json { .. } | Content::Form(_)) {
        reader.refuse(
            &place.pointer,
            format!(
                "a body of `{}` that may be left out is not understood",
                content.media_type()
            ),
            "write `required: true`: an empty one is a body, too",
        );
    }
    Some(Body {
        description: reader.text(&place, "description"),
        content,
        null,
        required,
        pointer: place.pointer,
    })
}

//! From text to a [`Document`], or to everything that is wrong with it.
//!
//! 1. [`text`]: YAML or JSON to one JSON value.
//! 2. This file: the document, from top to bottom. Components come first, because operations refer to them.
//! 3. [`schema`], [`scalar`], [`object`], [`parts`], [`one_of`] and [`discriminator`]: each schema by itself. An
//!    inline schema that needs a type becomes a component ([`made`]).
//! 4. [`operation`], [`answer`], [`content`], [`security`], [`link`] and [`paths`]: operations.
//! 5. [`graph`]: how schemas relate, and how operations use them; [`trial`]: alternatives that only their schemas
//!    tell apart; [`null`]: which of them admit null; [`default`]: their defaults;
//!    [`direction`]: properties for one direction only.
//! 6. [`names`]: what would collide in Rust.
//!
//! Every object is read by [`reader`], with a closed list of keywords. [`lenient`] removes what is only
//! documentation from a document, and then reads the rest in the same way.

mod answer;
mod bounds;
mod content;
mod default;
mod direction;
mod discriminator;
mod graph;
mod keywords;
mod lenient;
mod limits;
/// A symbolic link to the runtime's file, which `cargo package` follows.
mod linear;
mod link;
mod look;
mod made;
/// A symbolic link to the runtime's file, which `cargo package` follows.
mod multiple;
mod names;
mod null;
mod object;
mod one_of;
mod operation;
mod parts;
mod paths;
mod reader;
mod remedy;
mod scalar;
mod schema;
mod security;
mod text;
mod trial;

use std::path::Path;

use indexmap::IndexMap;
use serde_json::Value;

use crate::model::{Document, Pointer, Schema, Status, Tag};
use crate::names::part;
use crate::{Problem, Problems};

use operation::Shared;
use reader::{Keywords, Place, Reader, Refused};

const DOCUMENT: Keywords = Keywords {
    what: "a document",
    read: &[
        "openapi",
        "jsonSchemaDialect",
        "info",
        "tags",
        "paths",
        "components",
        "security",
    ],
    told: &["servers", "externalDocs"],
    extensions: true,
};
const INFO: Keywords = Keywords {
    what: "`info`",
    read: &["title", "version"],
    told: &["description", "termsOfService", "contact", "license"],
    extensions: true,
};
const TAG: Keywords = Keywords {
    what: "a tag",
    read: &["name"],
    told: &["description", "externalDocs"],
    extensions: true,
};
const COMPONENTS: Keywords = Keywords::new(
    "the components",
    &[
        "schemas",
        "parameters",
        "headers",
        "responses",
        "requestBodies",
        "examples",
        "links",
        "securitySchemes",
    ],
    &[],
);
/// Reads and checks a file.
pub(crate) fn file(path: &Path) -> Result<Document, Problems> {
    document(&path.display().to_string(), &contents(path)?, &stem(path))
}

/// Reads and checks a file leniently.
pub(crate) fn lenient_file(path: &Path) -> Result<(Document, Vec<Problem>), Problems> {
    lenient_document(&path.display().to_string(), &contents(path)?, &stem(path))
}

/// Reads a file as one value, without checking it.
pub(crate) fn source(path: &Path) -> Result<Value, Problem> {
    value(&path.display().to_string(), &contents(path)?)
}

/// Checks the text of a document.
pub(crate) fn document(file: &str, text: &str, module: &str) -> Result<Document, Problems> {
    let source = value(file, text)?;
    let document = judged(file, &source, module).map_err(|refused| refused.problems)?;
    Ok(Document { source, ..document })
}

/// Checks the text of a document leniently.
pub(crate) fn lenient_document(
    file: &str,
    text: &str,
    module: &str,
) -> Result<(Document, Vec<Problem>), Problems> {
    let source = value(file, text)?;
    let (document, told) = lenient::document(&source, |rest| judged(file, rest, module))?;
    Ok((Document { source, ..document }, told))
}

/// Reads and checks a document, without its source.
fn judged(file: &str, source: &Value, module: &str) -> Result<Document, Refused> {
    let reader = Reader::new(file, source);
    let read = whole(&reader, module);
    reader.finish()?;
    // Whatever was read as `None` has been refused, so `read` is `Some` by now.
    read.ok_or_else(|| {
        let cause = "nothing was read".to_owned();
        let problem = single(file, cause, "report this to the generator");
        Refused::from(Problems::from(problem))
    })
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_str().unwrap_or_default().to_owned()
}

fn contents(path: &Path) -> Result<String, Problem> {
    std::fs::read_to_string(path).map_err(|error| {
        single(
            &path.display().to_string(),
            format!("the file cannot be read: {error}"),
            "name a file of UTF-8 text",
        )
    })
}

fn value(file: &str, text: &str) -> Result<Value, Problem> {
    text::read(text).map_err(|error| {
        single(
            file,
            format!("the text is not one value: {error}"),
            "write one value of YAML or JSON, each member of an object once",
        )
    })
}

fn single(file: &str, cause: String, remedy: &str) -> Problem {
    Problem {
        file: file.to_owned(),
        pointer: Pointer::default(),
        cause,
        remedy: remedy.to_owned(),
    }
}

fn whole(reader: &Reader<'_>, module: &str) -> Option<Document> {
    let root = reader.object(reader.root(), &DOCUMENT)?;
    names::check_module(reader, module);
    check_version(reader, &root);
    check_dialect(reader, &root);
    let info = info(reader, &root);
    let tags = tags(reader, &root);
    let components = components(reader, &root);
    let at = |name| components.as_ref().and_then(|it| it.get(name));
    let empty = Value::Null;
    let nothing = Place {
        value: &empty,
        pointer: Pointer::default(),
    };
    let mut schemas = at("schemas")
        .map(|it| schemas(reader, &it))
        .unwrap_or_default();
    let scheme_places = at("securitySchemes").unwrap_or(nothing);
    let security_schemes = security::schemes(reader, &scheme_places);
    let security = security::required(reader, &root, &security_schemes, Vec::new());
    let shared = Shared {
        tags: &tags,
        schemes: &security_schemes,
        security,
    };
    let Some(paths) = root.get("paths") else {
        reader.missing(&root, "paths");
        return None;
    };
    reader.expect(&paths, "an object", Value::as_object)?;
    if paths.members().next().is_none() {
        reader.refuse(
            &paths.pointer,
            "the document has no paths",
            "write at least one",
        );
    }
    let mut operations = operation::all(reader, &paths, &shared);
    schemas.extend(reader.made.take());
    null::check(reader, &mut schemas);
    operations
        .iter_mut()
        .for_each(|it| content::admit_null(&schemas, it));
    graph::check(reader, &schemas);
    graph::check_operations(reader, &schemas, &operations);
    direction::check(reader, &schemas, &operations);
    link::check(reader, &paths, &operations);
    names::check_answers(reader, &schemas, &operations);
    names::check_functions(reader, &operations, &scheme_places);
    let (title, version, description) = info?;
    Some(Document {
        file: reader.file.to_owned(),
        module: crate::names::value(module),
        title,
        version,
        description,
        tags,
        operations,
        schemas,
        security_schemes,
        source: Value::Null,
    })
}

fn check_version(reader: &Reader<'_>, root: &Place<'_>) {
    if let Some(version) = reader.required_text(root, "openapi")
        && !((version.starts_with("3.0.") || version.starts_with("3.1.")) && version.len() == 5)
    {
        reader.refuse(
            &root.pointer.child("openapi"),
            format!("OpenAPI {version} is not understood"),
            "write `3.0.3` or `3.1.1`, and the document accordingly",
        );
    }
}

/// Schemas must be in the dialect of OpenAPI itself, the only one that is read.
fn check_dialect(reader: &Reader<'_>, root: &Place<'_>) {
    const DIALECT: &str = "https://spec.openapis.org/oas/3.1/dialect/base";
    if let Some(dialect) = reader.text(root, "jsonSchemaDialect")
        && !(reader.is_3_1() && dialect == DIALECT)
    {
        reader.refuse(
            &root.pointer.child("jsonSchemaDialect"),
            "the dialect of the schemas is not understood",
            format!("remove it, or write `{DIALECT}` in OpenAPI 3.1"),
        );
    }
}

fn info(reader: &Reader<'_>, root: &Place<'_>) -> Option<(String, String, Option<String>)> {
    let Some(info) = root.get("info") else {
        reader.missing(root, "info");
        return None;
    };
    let info = reader.object(info, &INFO)?;
    let (title, version) = (
        reader.required_text(&info, "title"),
        reader.required_text(&info, "version"),
    );
    Some((title?, version?, reader.text(&info, "description")))
}

fn tags(reader: &Reader<'_>, root: &Place<'_>) -> IndexMap<String, Tag> {
    let mut tags = IndexMap::new();
    let Some(list) = root.get("tags") else {
        return tags;
    };
    reader.expect(&list, "a list", Value::as_array);
    for place in list.items() {
        let Some(place) = reader.object(place, &TAG) else {
            continue;
        };
        let Some(name) = reader.required_text(&place, "name") else {
            continue;
        };
        let tag = Tag {
            description: reader.text(&place, "description"),
        };
        if tags.insert(name.clone(), tag).is_some() {
            reader.refuse(
                &place.pointer,
                format!("the tag `{name}` is declared twice"),
                "declare it once",
            );
        }
    }
    tags
}

/// Returns the components, having checked those that nothing may refer to.
fn components<'a>(reader: &Reader<'a>, root: &Place<'a>) -> Option<Place<'a>> {
    let place = reader.object(root.get("components")?, &COMPONENTS)?;
    let in_section = |name: &str| {
        let section = place.get(name)?;
        reader.expect(&section, "an object", Value::as_object)?;
        Some(section)
    };
    let all = |name| {
        in_section(name)
            .into_iter()
            .flat_map(|section| section.members())
    };
    all("schemas").for_each(|(name, _)| reader.made.reserve(name));
    names::PRELUDE.iter().for_each(|it| reader.made.reserve(it));
    for (name, it) in all("parameters") {
        operation::parameter(reader, it, &part(name, "parameter"));
    }
    for (name, it) in all("headers") {
        answer::header(reader, name, it, &part("header", name));
    }
    for (name, it) in all("responses") {
        answer::one(reader, it, Status::Code(200), &part(name, "response"));
    }
    for (name, it) in all("requestBodies") {
        operation::request_body(reader, it, &part(name, "body"));
    }
    all("examples").for_each(|(_, it)| answer::example(reader, it));
    all("links").for_each(|(_, it)| drop(link::one(reader, it)));
    all("schemas").chain(all("securitySchemes")).for_each(drop);
    Some(place)
}

fn schemas(reader: &Reader<'_>, place: &Place<'_>) -> IndexMap<String, Schema> {
    names::check_components(reader, place);
    place
        .members()
        .filter_map(|(name, place)| {
            let schema = schema::component(reader, place, name)?;
            Some((name.to_owned(), schema))
        })
        .collect()
}

//! Links of responses: what a client can do next, and with which values of the response.
//!
//! They do not change the generated code. Tools follow them, though, so each must lead to an
//! operation of the document, and to parameters that this operation has.

use serde_json::Value;

use crate::model::{Link, Location, Operation, Parameter};

use super::reader::{Keywords, Place, Reader};

const LINK: Keywords = Keywords::new(
    "a link",
    &["operationId", "parameters", "requestBody"],
    &["description"],
);

/// Reads those links of a response that are readable.
pub(super) fn all<'a>(reader: &Reader<'a>, answer: &Place<'a>) -> Vec<Link> {
    let Some(place) = answer.get("links") else {
        return Vec::new();
    };
    reader.expect(&place, "an object", Value::as_object);
    place
        .members()
        .filter_map(|(_, link)| one(reader, link))
        .collect()
}

/// Reads a link, wherever it is defined.
pub(super) fn one<'a>(reader: &Reader<'a>, place: Place<'a>) -> Option<Link> {
    let place = reader.follow(place, "links")?;
    let place = reader.object(place, &LINK)?;
    let operation = reader.required_text(&place, "operationId");
    let parameters = place.get("parameters");
    if let Some(parameters) = &parameters {
        reader.expect(parameters, "an object", Value::as_object);
    }
    Some(Link {
        operation: operation?,
        parameters: parameters
            .iter()
            .flat_map(Place::members)
            .map(|(name, _)| name.to_owned())
            .collect(),
        body: place.get("requestBody").is_some(),
        pointer: place.pointer,
    })
}

/// Refuses links that lead nowhere.
pub(super) fn check(reader: &Reader<'_>, paths: &Place<'_>, operations: &[Operation]) {
    let answers = operations.iter().flat_map(|it| {
        std::iter::once(&it.success)
            .chain(&it.further)
            .chain(&it.errors)
    });
    for link in answers.flat_map(|answer| &answer.links) {
        match operations.iter().find(|it| it.id == link.operation) {
            Some(target) => check_values(reader, link, target),
            // An operation that was itself refused has already been reported.
            None if is_published(paths, &link.operation) => {}
            None => reader.refuse(
                &link.pointer.child("operationId"),
                format!("there is no operation `{}`", link.operation),
                "write the operationId of an operation of this document",
            ),
        }
    }
}

fn is_published(paths: &Place<'_>, id: &str) -> bool {
    let methods = paths.members().flat_map(|(_, item)| item.members());
    methods
        .filter_map(|(_, operation)| operation.value.get("operationId")?.as_str())
        .any(|other| other == id)
}

fn check_values(reader: &Reader<'_>, link: &Link, target: &Operation) {
    for name in &link.parameters {
        if !target.parameters.iter().any(|it| is_named(it, name)) {
            reader.refuse(
                &link.pointer.child("parameters").child(name),
                format!("`{}` has no parameter `{name}`", target.id),
                "write the name of one of its parameters, or `path.NAME`, `query.NAME` or `header.NAME`",
            );
        }
    }
    if link.body && target.body.is_none() {
        reader.refuse(
            &link.pointer.child("requestBody"),
            format!("`{}` has no request body", target.id),
            "remove it",
        );
    }
}

fn is_named(parameter: &Parameter, name: &str) -> bool {
    let location = match parameter.location {
        Location::Path => "path",
        Location::Query => "query",
        Location::Header => "header",
    };
    let qualified = name
        .split_once('.')
        .is_some_and(|(before, after)| before == location && after == parameter.name);
    qualified || name == parameter.name
}

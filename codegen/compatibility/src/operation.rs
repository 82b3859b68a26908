//! Operations and their parts above schemas: parameters, bodies, responses and headers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::change::{Change, Effect, Place};
use crate::document::Operation;
use crate::errors;
use crate::pair::{Both, Names, Pair, component};
use crate::schema::deprecation;
use crate::walk::kept_headers;

/// Returns the changes of an operation itself. `pair` is the pair of the two.
pub fn changes(pair: &Pair<'_>, old: &Operation<'_>, new: &Operation<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    identity(pair, old, new, &mut changes);
    security(pair, old, new, &mut changes);
    parameters(pair, old, new, &mut changes);
    request_body(pair, &mut changes);
    answers(pair, &mut changes);
    let ruled = [
        "operationId",
        "tags",
        "deprecated",
        "security",
        "parameters",
        "requestBody",
        "responses",
    ];
    changes.extend(pair.others(&ruled, &["summary", "description", "externalDocs"]));
    changes
}

/// The operation's name and its place.
fn identity(pair: &Pair<'_>, old: &Operation<'_>, new: &Operation<'_>, changes: &mut Vec<Change>) {
    let both = &pair.both;
    if old.anonymous_route() != new.anonymous_route() {
        let what = format!("is at `{}`, was at `{}`", new.route, old.route);
        changes.push(pair.change(Effect::Different, both.place(), what));
    }
    if old.name != new.name {
        let what = format!("is called `{}`, was `{}`", new.name, old.name);
        changes.push(pair.change(Effect::Renamed, both.place_of("operationId"), what));
    }
    let tags = |operation: &Operation<'_>| -> Vec<String> {
        let tags = operation.node.at("tags").items();
        tags.iter()
            .filter_map(|tag| Some(tag.value.as_str()?.to_owned()))
            .collect()
    };
    let found = Names::of(tags(old), tags(new));
    for (tags, effect, verb) in [
        // Generators make a group or a class of each tag.
        (found.gone, Effect::Renamed, "is no longer"),
        (found.new, Effect::Harmless, "is also"),
    ] {
        for tag in tags {
            let what = format!("{verb} under the tag `{tag}`");
            changes.push(pair.change(effect, both.place_of("tags"), what));
        }
    }
    changes.extend(deprecation(pair));
}

/// Every way to authenticate that worked must still work.
fn security(pair: &Pair<'_>, old: &Operation<'_>, new: &Operation<'_>, changes: &mut Vec<Change>) {
    let (before, after) = (old.security(), new.security());
    if before == after {
        return;
    }
    let lets_in = |given: &Value| after.iter().any(|way| suffices(way, given));
    let effect = match before.iter().all(lets_in) {
        true => Effect::Harmless,
        false => Effect::Fewer,
    };
    let what = format!("needs {}, was {}", in_words(&after), in_words(&before));
    changes.push(pair.change(effect, pair.both.place_of("security"), what));
}

/// Whether the credentials of one way to authenticate are enough for another.
fn suffices(way: &Value, given: &Value) -> bool {
    let mut needed = way.as_object().into_iter().flatten();
    needed.all(|(scheme, scopes)| {
        let given = given.get(scheme).and_then(Value::as_array);
        let mut scopes = scopes.as_array().into_iter().flatten();
        given.is_some_and(|given| scopes.all(|scope| given.contains(scope)))
    })
}

/// The ways to authenticate: `` `key` or `token` ``.
fn in_words(ways: &[Value]) -> String {
    let ways = ways.iter().map(|way| {
        let schemes = way.as_object().into_iter().flatten();
        let schemes: Vec<_> = schemes.map(|(scheme, _)| format!("`{scheme}`")).collect();
        match schemes.is_empty() {
            true => "no credential".to_owned(),
            false => schemes.join(" and "),
        }
    });
    ways.collect::<Vec<_>>().join(" or ")
}

/// Parameters that only one of the documents has.
fn parameters(
    pair: &Pair<'_>,
    old: &Operation<'_>,
    new: &Operation<'_>,
    changes: &mut Vec<Change>,
) {
    let (before, after) = (old.parameters(), new.parameters());
    for (_, parameter) in before
        .iter()
        .filter(|(key, _)| after.iter().all(|(it, _)| it != key))
    {
        let what = format!("the parameter `{}` is gone", parameter.text("name"));
        let place = Place {
            old: Some(parameter.pointer.clone()),
            new: None,
        };
        changes.push(pair.change(Effect::Different, place, what));
    }
    for (_, parameter) in after
        .iter()
        .filter(|(key, _)| before.iter().all(|(it, _)| it != key))
    {
        let what = format!("the parameter `{}` is new", parameter.text("name"));
        let place = Place {
            old: None,
            new: Some(parameter.pointer.clone()),
        };
        changes.push(match parameter.flag("required") {
            true => pair.change(Effect::Fewer, place, format!("{what}, and required")),
            false => pair.change(Effect::Harmless, place, what),
        });
    }
}

fn request_body(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    let place = pair.both.place_of("requestBody");
    let (old, new) = (
        pair.both.old.get("requestBody"),
        pair.both.new.get("requestBody"),
    );
    let (effect, what) = match (old, new) {
        (Some(_), None) => (Effect::Different, "takes no body now"),
        (None, Some(body)) if body.flag("required") => (Effect::Fewer, "needs a body now"),
        (None, Some(_)) => (Effect::Harmless, "takes a body now"),
        _ => return,
    };
    changes.push(pair.change(effect, place, what));
}

/// Responses that only one of the documents has.
fn answers(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    let answers = pair.both.at("responses");
    let Names { gone, new, .. } = answers.names();
    for status in gone {
        let what = format!("the answer {status} is gone");
        let place = Place {
            old: Some(answers.old.place_of(&status)),
            new: None,
        };
        changes.push(pair.change(Effect::Different, place, what));
    }
    for status in new {
        let place = Place {
            old: None,
            new: Some(answers.new.place_of(&status)),
        };
        let what = format!("the answer {status} is new");
        let (effect, what) = match is_error(&status) {
            true if is_one_more_error(&answers, &status) => (Effect::Harmless, what),
            true => (
                Effect::Different,
                format!("{what}, in another shape than the errors before"),
            ),
            false => (Effect::Different, what),
        };
        changes.push(pair.change(effect, place, what));
    }
}

fn is_error(status: &str) -> bool {
    status.starts_with(['4', '5'])
}

/// Whether a new error has the shape of the older ones. Such an error may be added: a client that
/// does not know a status treats it like its class (RFC 9110, section 15), and can read the body.
fn is_one_more_error(answers: &Both<'_>, status: &str) -> bool {
    let shapes = |status: &str| -> BTreeSet<Option<String>> {
        let content = answers.new.at(status).at("content").members();
        let shape = |pointer: &str| component(pointer).map(str::to_owned);
        content
            .iter()
            .map(|(_, media)| shape(&media.at("schema").pointer))
            .collect()
    };
    let shape = shapes(status);
    let known = answers.old.members();
    let mut known = known.iter().filter(|(status, _)| is_error(status));
    !shape.is_empty() && !shape.contains(&None) && known.any(|(status, _)| shapes(status) == shape)
}

/// The changes of a parameter that both have.
pub fn parameter(pair: &Pair<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let (old, new) = (&pair.both.old, &pair.both.new);
    let (before, after) = (old.text("name"), new.text("name"));
    if !before.eq_ignore_ascii_case(after) {
        // Only the variables of a path can be renamed: any other parameter would be a different one.
        let what = format!("is called `{after}`, was `{before}`");
        changes.push(pair.change(Effect::Renamed, pair.both.place_of("name"), what));
    } else if before != after {
        let what = format!("is written `{after}`, was `{before}`");
        changes.push(pair.change(Effect::Text, pair.both.place_of("name"), what));
    }
    required(pair, &mut changes);
    changes.extend(deprecation(pair));
    let ruled = ["name", "in", "required", "deprecated", "schema"];
    changes.extend(pair.others(&ruled, &["description", "example", "examples"]));
    changes.extend(schema_on_one_side(pair));
    changes
}

/// The changes of a request body that both have.
pub fn body(pair: &Pair<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    required(pair, &mut changes);
    content(pair, &mut changes);
    changes.extend(pair.others(&["required", "content"], &["description"]));
    changes
}

/// The changes of a response that both have.
pub fn answer(pair: &Pair<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    content(pair, &mut changes);
    headers(pair, &mut changes);
    codes(pair, &mut changes);
    // Links say what may follow; they change neither requests nor responses.
    changes.extend(pair.others(&["content", "headers"], &["description", "links"]));
    changes
}

/// The changes of a header that both have.
pub fn header(pair: &Pair<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    required(pair, &mut changes);
    changes.extend(deprecation(pair));
    let texts = ["description", "example", "examples"];
    changes.extend(pair.others(&["required", "deprecated", "schema"], &texts));
    changes.extend(schema_on_one_side(pair));
    changes
}

/// The changes of a media type that both have.
pub fn media(pair: &Pair<'_>) -> Vec<Change> {
    let mut changes = pair.others(&["schema"], &["example", "examples"]);
    changes.extend(schema_on_one_side(pair));
    changes
}

/// A schema that only one of the documents has does not form a pair.
fn schema_on_one_side(pair: &Pair<'_>) -> Option<Change> {
    let (old, new) = (pair.both.old.get("schema"), pair.both.new.get("schema"));
    let what = match (old, new) {
        (None, Some(_)) => "has a schema now",
        (Some(_), None) => "has no schema now",
        _ => return None,
    };
    Some(pair.change(Effect::Different, pair.both.place_of("schema"), what))
}

fn required(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    let place = pair.both.place_of("required");
    match (
        pair.both.old.flag("required"),
        pair.both.new.flag("required"),
    ) {
        (false, true) => changes.push(pair.change(Effect::Fewer, place, "is required now")),
        (true, false) => changes.push(pair.change(Effect::More, place, "is optional now")),
        _ => {}
    }
}

/// Media types that only one of the documents has.
fn content(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    let content = pair.both.at("content");
    let names = content.names();
    for (names, effect, state) in [
        (names.gone, Effect::Different, "gone"),
        (names.new, Effect::More, "new"),
    ] {
        for media in names {
            let what = format!("the media type `{media}` is {state}");
            changes.push(pair.change(effect, content.place_of(&media), what));
        }
    }
}

/// Headers that only one of the documents has.
fn headers(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    let headers = pair.both.at("headers");
    let kept = kept_headers(&pair.both);
    let missing = |name: &str| {
        kept.iter()
            .all(|(other, _)| !other.eq_ignore_ascii_case(name))
    };
    for (node, effect, state) in [
        (&headers.old, Effect::Different, "gone"),
        (&headers.new, Effect::Harmless, "new"),
    ] {
        for (name, _) in node.members().iter().filter(|(name, _)| missing(name)) {
            let what = format!("the header `{name}` is {state}");
            changes.push(pair.change(effect, headers.place_of(name), what));
        }
    }
}

/// The error codes of the response.
fn codes(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    let place = pair.both.place_of("content");
    let before = errors::of_answer(&pair.both.old);
    let after = errors::of_answer(&pair.both.new);
    for (code, kind) in &before {
        let what = match after.get(code) {
            None => format!("the error `{code}` is gone"),
            Some(now) if now != kind => {
                format!("the error `{code}` is of the type `{now}`, was `{kind}`")
            }
            Some(_) => continue,
        };
        changes.push(pair.change(Effect::Different, place.clone(), what));
    }
    for code in after.keys().filter(|code| !before.contains_key(*code)) {
        let what = format!("the error `{code}` is new");
        changes.push(pair.change(Effect::Harmless, place.clone(), what));
    }
}

//! The document as a whole: servers, credentials, paths, and the list of errors.

use std::collections::BTreeSet;

use crate::change::{Change, Effect, Place, Severity, Users};
use crate::document::{Document, METHODS, Node, Operation};
use crate::errors;
use crate::pair::{Both, Names, Operations, Pair};
use crate::schema::show;

/// Returns the changes outside of operations and their contents.
pub fn changes(old: &Document, new: &Document, operations: &Operations<'_>) -> Vec<Change> {
    let both = Both {
        old: old.root(),
        new: new.root(),
    };
    let names = operations.kept.iter().map(|(_, new)| new.name.clone());
    let everybody = Users::callers(names);
    let pair = |subject: &str, both| Pair {
        subject: subject.to_owned(),
        both,
        users: everybody.clone(),
    };
    let whole = pair("the document", both.clone());
    let mut changes = servers(&whole);
    changes.extend(tables(old, new, &whole));
    let ruled = ["info", "paths", "components", "servers", "security", "tags"];
    changes.extend(whole.others(&ruled, &["openapi", "externalDocs"]));
    let texts = [
        "title",
        "description",
        "termsOfService",
        "contact",
        "license",
    ];
    changes.extend(pair("the introduction", both.at("info")).others(&["version"], &texts));
    changes.extend(paths(&both, pair));
    changes.extend(tags(&both, pair));
    for change in &mut changes {
        if change.severity != Severity::Text {
            change.whom = "every caller".to_owned();
        }
    }
    changes.extend(listed(operations));
    changes.extend(schemes(&both, operations));
    changes
}

/// Operations that only one of the documents has.
fn listed(operations: &Operations<'_>) -> Vec<Change> {
    let change = |severity, operation: &Operation<'_>, what, place| Change {
        severity,
        subject: operation.name.clone(),
        what,
        whom: Users::callers([operation.name.clone()]).to_string(),
        place,
    };
    let gone = operations.gone.iter().map(|operation| {
        let place = Place {
            old: Some(operation.node.pointer.clone()),
            new: None,
        };
        let what = format!("the operation `{}` is gone", operation.route);
        change(Severity::Breaking, operation, what, place)
    });
    let new = operations.new.iter().map(|operation| {
        let place = Place {
            old: None,
            new: Some(operation.node.pointer.clone()),
        };
        let what = format!("the operation `{}` is new", operation.route);
        change(Severity::Compatible, operation, what, place)
    });
    gone.chain(new).collect()
}

/// Generated clients start from the servers that the document names.
fn servers(whole: &Pair<'_>) -> Vec<Change> {
    let (old, new) = (whole.both.old.at("servers"), whole.both.new.at("servers"));
    let place = whole.both.place_of("servers");
    let mut changes = Vec::new();
    for before in old.items() {
        let url = before.text("url");
        let Some(after) = new.items().into_iter().find(|it| it.text("url") == url) else {
            let what = format!("the server `{url}` is gone");
            changes.push(whole.change(Effect::Different, place.clone(), what));
            continue;
        };
        let server = Pair {
            both: Both {
                old: before,
                new: after,
            },
            subject: format!("the server {url}"),
            ..whole.clone()
        };
        changes.extend(server.others(&["url", "variables"], &["description"]));
        let variables = server.both.at("variables");
        let names = variables.names();
        for name in names.gone.iter().chain(&names.new) {
            let what = format!("another variable, `{name}`");
            changes.push(server.change(Effect::Different, variables.place_of(name), what));
        }
        for name in names.kept {
            let variable = Pair {
                both: variables.at(&name),
                subject: format!("{} variable {name}", server.subject),
                ..server.clone()
            };
            changes.extend(members(&variable, &["default", "enum"], Effect::Different));
            changes.extend(variable.others(&["default", "enum"], &["description"]));
        }
    }
    let known: BTreeSet<_> = old.items().iter().map(|it| it.text("url")).collect();
    for server in new
        .items()
        .iter()
        .filter(|it| !known.contains(it.text("url")))
    {
        let what = format!("the server `{}` is new", server.text("url"));
        changes.push(whole.change(Effect::Harmless, place.clone(), what));
    }
    changes
}

/// Members for which neither value includes the other.
fn members(pair: &Pair<'_>, names: &[&str], effect: Effect) -> Vec<Change> {
    let values = |name| (pair.both.old.value.get(name), pair.both.new.value.get(name));
    let differing = names.iter().filter(|name| {
        let (old, new) = values(**name);
        old != new
    });
    differing
        .map(|name| {
            let (old, new) = values(*name);
            let what = format!("its `{name}` is {}, was {}", show(new), show(old));
            pair.change(effect, pair.both.place_of(name), what)
        })
        .collect()
}

/// Errors that only the introduction lists.
fn tables(old: &Document, new: &Document, whole: &Pair<'_>) -> Vec<Change> {
    let (before, after) = (errors::of_tables(old), errors::of_tables(new));
    let place = || whole.both.at("info").place_of("description");
    let mut changes = Vec::new();
    for (errors, effect, state) in [
        (before.difference(&after), Effect::Different, "gone"),
        (after.difference(&before), Effect::Harmless, "new"),
    ] {
        for (status, code) in errors {
            let what = format!("the error {status} `{code}` is {state}");
            changes.push(whole.change(effect, place(), what));
        }
    }
    changes
}

/// The definitions of the credentials that operations require.
fn schemes(both: &Both<'_>, operations: &Operations<'_>) -> Vec<Change> {
    let schemes = both.at("components").at("securitySchemes");
    let mut changes = Vec::new();
    for (name, _) in schemes.old.members() {
        let needs = |operation: &Operation<'_>| {
            let ways = operation.security();
            ways.iter().any(|way| way.get(&name).is_some())
        };
        let users = operations.kept.iter().filter(|(_, new)| needs(new));
        let senders: BTreeSet<_> = users.map(|(_, new)| new.name.clone()).collect();
        if senders.is_empty() {
            continue;
        }
        let scheme = Pair {
            subject: format!("credential {name}"),
            both: schemes.at(&name),
            users: Users {
                senders,
                readers: BTreeSet::new(),
            },
        };
        let ruled = ["type", "scheme", "in", "name", "flows", "openIdConnectUrl"];
        changes.extend(members(&scheme, &ruled, Effect::Fewer));
        changes.extend(scheme.others(&ruled, &["description", "bearerFormat"]));
    }
    changes
}

/// What the paths specify for all of their methods.
fn paths<'a>(both: &Both<'a>, pair: impl Fn(&str, Both<'a>) -> Pair<'a>) -> Vec<Change> {
    let paths = both.at("paths");
    let kept = paths.names().kept.into_iter();
    let ruled: Vec<&str> = METHODS.into_iter().chain(["parameters"]).collect();
    kept.flat_map(|path| pair(&path, paths.at(&path)).others(&ruled, &["summary", "description"]))
        .collect()
}

/// The document's descriptions of its tags; which operations have them is a matter of the
/// operations.
fn tags<'a>(both: &Both<'a>, pair: impl Fn(&str, Both<'a>) -> Pair<'a>) -> Vec<Change> {
    let tags = both.at("tags");
    let (old, new) = (tags.old.items(), tags.new.items());
    let names = |tags: &[Node<'a>]| tags.iter().map(|tag| tag.text("name").to_owned()).collect();
    let Names {
        gone,
        kept,
        new: added,
    } = Names::of(names(&old), names(&new));
    let whole = pair("the document", tags);
    let listed = gone.iter().chain(&added).map(|name| {
        whole.change(
            Effect::Text,
            whole.both.place(),
            format!("another tag, `{name}`"),
        )
    });
    let find =
        |tags: &[Node<'a>], name: &str| tags.iter().find(|tag| tag.text("name") == name).cloned();
    let told = kept.iter().filter_map(|name| {
        let (old, new) = (find(&old, name)?, find(&new, name)?);
        let tag = pair(&format!("tag {name}"), Both { old, new });
        Some(tag.others(&["name"], &["description", "externalDocs"]))
    });
    listed.chain(told.flatten()).collect()
}

//! Checks the interface's promises against a history that has ended and settled.
//!
//! 1. Every request is answered in the end, and none is refused: a client may repeat a request that is in doubt.
//! 2. A key has one result. However often it is used, it is executed once, and every success gives the same answer:
//!    status, location and body.
//! 3. A product is a register with one writer, so its versions are sequential. A request that looks at it, by its id
//!    or in the list at the end, sees a version that was requested by then, and none older than what was
//!    acknowledged to the writer or seen by a reader before the request. So nothing acknowledged is lost, and
//!    nothing that was seen is undone.
//! 4. A version looks the same to every reader, and as its writer requested it.
//! 5. The list at the end shows every product once.
//! 6. A refresh token is worth one pair, however often it is presented before the pair is used, and no other
//!    token is worth the same.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::history::{Asked, Operation};

/// Every broken promise in a history and the catalog after it; empty if there is none.
pub fn check(operations: &[Operation], catalog: &[Value]) -> Vec<String> {
    let mut problems = answers(operations);
    for (key, uses) in by(operations, key_of) {
        problems.extend(one_result(key, &uses));
    }
    let mut listed: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for product in catalog {
        listed
            .entry(text(product, "name"))
            .or_default()
            .push(product);
    }
    let products = by(operations, product_of);
    for name in listed.keys().filter(|name| !products.contains_key(*name)) {
        problems.push(format!("nobody asked for product {name}, which is listed"));
    }
    for (name, operations) in products {
        let listed = listed.get(name).map_or(&[][..], Vec::as_slice);
        problems.extend(one_register(name, &operations, listed));
    }
    problems.extend(pairs(operations));
    problems
}

/// Rule 1.
fn answers(operations: &[Operation]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut in_doubt: BTreeSet<&Asked> = BTreeSet::new();
    let mut answered: BTreeSet<&Asked> = BTreeSet::new();
    for operation in operations {
        let asked = &operation.asked;
        let status = operation.answer.as_ref().map(|answer| answer.status);
        match (asked, status) {
            _ if operation.is_in_doubt() => drop(in_doubt.insert(asked)),
            _ if operation.is_acknowledged() => drop(answered.insert(asked)),
            // Archiving takes no key: what was in doubt has happened.
            (Asked::Change { key: None, .. }, Some(409)) if in_doubt.contains(asked) => {
                answered.insert(asked);
            }
            // Reads as a product that does not exist: rule 3.
            (Asked::Read { .. }, Some(404)) => {}
            _ => problems.push(format!("refused: {}", describe(operation))),
        }
    }
    let repeatable =
        |asked: &&&Asked| matches!(asked, Asked::Change { .. } | Asked::Refresh { .. });
    let open = in_doubt.difference(&answered).filter(repeatable);
    problems.extend(open.map(|asked| format!("in doubt for ever: {asked:?}")));
    problems
}

/// Rule 2.
fn one_result(key: &str, uses: &[&Operation]) -> Vec<String> {
    let mut problems = Vec::new();
    let successes: Vec<_> = uses.iter().filter(|one| one.is_acknowledged()).collect();
    let executed = successes.iter().filter(|one| !one.is_replay()).count();
    if executed > 1 {
        problems.push(format!("key {key} was executed {executed} times"));
    }
    let results: BTreeSet<_> = successes.iter().map(|one| result(one)).collect();
    if results.len() > 1 {
        problems.push(format!("key {key} has several results: {results:?}"));
    }
    problems
}

/// The part of an answer that a repetition must match.
fn result(operation: &Operation) -> Option<(u16, Option<&str>, Cow<'_, str>)> {
    let answer = operation.answer.as_ref()?;
    let body = String::from_utf8_lossy(&answer.body);
    Some((answer.status, answer.header("location"), body))
}

/// What a client learned about a product.
struct Sight {
    /// When it was requested.
    invoked: Duration,
    /// From when on no client may see an older version.
    returned: Duration,
    /// The version; 0 if there is no such product.
    version: u64,
    /// The product as shown, if it was.
    shown: Option<Value>,
}

/// Rules 3 to 5, for one product.
fn one_register(name: &str, operations: &[&Operation], listed: &[&Value]) -> Vec<String> {
    let mut problems = Vec::new();
    if listed.len() > 1 {
        problems.push(format!("product {name} is listed {} times", listed.len()));
    }
    let mut sights: Vec<_> = operations.iter().filter_map(|one| sight(one)).collect();
    sights.push(Sight {
        invoked: Duration::MAX,
        returned: Duration::MAX,
        version: listed.first().map_or(0, |product| version(product)),
        shown: listed.first().map(|product| (*product).clone()),
    });
    let mut looks: BTreeMap<u64, &Value> = BTreeMap::new();
    for sight in &sights {
        let seen = sight.version;
        let known = sights.iter().filter(|one| one.returned < sight.invoked);
        let oldest = known.map(|one| one.version).max().unwrap_or(0);
        let asked = operations.iter().filter(|one| one.invoked < sight.returned);
        let newest = asked
            .filter_map(|one| asked_version(one))
            .max()
            .unwrap_or(0);
        if !(oldest..=newest).contains(&seen) {
            let range = format!("{oldest} to {newest} could be seen");
            let when = sight.invoked;
            problems.push(format!(
                "product {name}, {when:?}: version {seen}, but {range}"
            ));
        }
        if let Some(shown) = &sight.shown {
            let look = looks.entry(seen).or_insert(shown);
            if *look != shown {
                problems.push(format!(
                    "product {name}, version {seen}: {look} and {shown}"
                ));
            }
        }
    }
    problems.extend(moves_on(name, &looks));
    problems.extend(operations.iter().filter_map(|one| other_version(one)));
    problems
}

/// Rule 4, of the answer to a change.
fn other_version(operation: &Operation) -> Option<String> {
    let shown = sight(operation)?.version;
    let other = asked_version(operation).is_some_and(|asked| asked != shown);
    other.then(|| format!("answered with version {shown}: {}", describe(operation)))
}

/// What an operation reveals of its product. The answer to a change is old news when it is replayed, so only the
/// moment at which it came counts.
fn sight(operation: &Operation) -> Option<Sight> {
    let data = operation.answer.as_ref()?.json()["data"].take();
    let (version, shown) = match &operation.asked {
        _ if operation.is_in_doubt() => return None,
        Asked::Change { version: asked, .. } if data.is_null() => (*asked, None),
        Asked::Read { .. } if data.is_null() => (0, None),
        _ => (version(&data), Some(data)),
    };
    let invoked = match operation.asked {
        Asked::Read { .. } => operation.invoked,
        _ => Duration::ZERO,
    };
    Some(Sight {
        invoked,
        returned: operation.returned,
        version,
        shown,
    })
}

/// Rule 4, for the versions that were seen: id and creation time stay, the time of change moves on.
fn moves_on(name: &str, looks: &BTreeMap<u64, &Value>) -> Vec<String> {
    let mut problems = Vec::new();
    for ((_, before), (version, after)) in looks.iter().zip(looks.iter().skip(1)) {
        let same = |member| before[member] == after[member];
        // Timestamps have the same length, so their text sorts in time order.
        let later = text(before, "updatedAt") < text(after, "updatedAt");
        let archived = text(after, "status") == "archived";
        // Archiving changes nothing else; the version before may not have been seen.
        let kept = !archived || before["unitPrice"] != after["unitPrice"] || same("description");
        if !(same("id") && same("createdAt") && later && kept) {
            problems.push(format!(
                "product {name} came to version {version}: {before}, {after}"
            ));
        }
    }
    problems
}

/// The version of the product as shown: writers store it as the price, and archiving adds one.
fn version(product: &Value) -> u64 {
    let archived = text(product, "status") == "archived";
    product["unitPrice"].as_u64().unwrap_or_default() + u64::from(archived)
}

/// Rule 6. That no token is refused is rule 1.
fn pairs(operations: &[Operation]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut owners: BTreeMap<(String, String), &str> = BTreeMap::new();
    let presented = operations.iter().filter(|one| one.is_acknowledged());
    for (token, uses) in by(presented, token_of) {
        let pairs: BTreeSet<_> = uses.iter().filter_map(|one| pair(one)).collect();
        if pairs.len() > 1 {
            problems.push(format!("refresh token {token} gave {} pairs", pairs.len()));
        }
        for pair in pairs {
            if let Some(other) = owners.insert(pair, token) {
                problems.push(format!("refresh tokens {other} and {token} gave one pair"));
            }
        }
    }
    problems
}

fn pair(operation: &Operation) -> Option<(String, String)> {
    let tokens = operation.answer.as_ref()?.json();
    let token = |name| text(&tokens, name).to_owned();
    Some((token("access_token"), token("refresh_token")))
}

/// Groups operations by their subject, in their order.
fn by<'a>(
    operations: impl IntoIterator<Item = &'a Operation>,
    what: fn(&Operation) -> Option<&str>,
) -> BTreeMap<&'a str, Vec<&'a Operation>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for operation in operations {
        if let Some(name) = what(operation) {
            groups.entry(name).or_default().push(operation);
        }
    }
    groups
}

fn key_of(operation: &Operation) -> Option<&str> {
    match &operation.asked {
        Asked::Change { key, .. } => key.as_deref(),
        _ => None,
    }
}

fn product_of(operation: &Operation) -> Option<&str> {
    match &operation.asked {
        Asked::Change { product, .. } | Asked::Read { product } => Some(product),
        _ => None,
    }
}

fn token_of(operation: &Operation) -> Option<&str> {
    match &operation.asked {
        Asked::Refresh { token } => Some(token),
        _ => None,
    }
}

fn asked_version(operation: &Operation) -> Option<u64> {
    match operation.asked {
        Asked::Change { version, .. } => Some(version),
        _ => None,
    }
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

/// Describes an operation for people: its answer, and when it came.
fn describe(operation: &Operation) -> String {
    let answer = operation.answer.as_ref();
    let answer = answer.map(|answer| (answer.status, String::from_utf8_lossy(&answer.body)));
    let Operation {
        asked,
        replica,
        invoked,
        returned,
        ..
    } = operation;
    format!("{asked:?} of replica {replica}, {invoked:?} to {returned:?}: {answer:?}")
}

#[cfg(test)]
mod tests;

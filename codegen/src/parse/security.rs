//! Security: the schemes of the document, and what operations require.
//!
//! 1. A scheme says where a credential is sent. OAuth2 and OpenID Connect also say how to get one, which the
//!    caller does elsewhere; it is sent as a bearer token (RFC 6750, section 2.1).
//! 2. An operation requires one of several alternatives, and for each, all of its schemes. `{}` allows
//!    anonymous access, and makes the others optional.
//! 3. Scopes are those of a flow of OAuth2, or any of OpenID Connect. The hook that admits the caller checks
//!    the credential for them.

use indexmap::IndexMap;
use serde_json::Value;

use crate::model::{Credential, Required, SecurityScheme};

use super::reader::{Keywords, Place, Reader};

const SCHEME: Keywords = Keywords::new(
    "a security scheme",
    &["type", "scheme", "name", "in", "flows", "openIdConnectUrl"],
    &["description", "bearerFormat"],
);

/// Keywords of an OAuth2 flow that its kind does not need still count as documentation.
const FLOW: Keywords = Keywords::new(
    "a flow of OAuth2",
    &["scopes"],
    &["authorizationUrl", "tokenUrl", "refreshUrl"],
);
const FLOWS: Keywords = Keywords::new(
    "the flows of OAuth2",
    &[
        "implicit",
        "password",
        "clientCredentials",
        "authorizationCode",
    ],
    &[],
);

type Schemes = IndexMap<String, SecurityScheme>;

/// Step 1.
pub(super) fn schemes(reader: &Reader<'_>, place: &Place<'_>) -> Schemes {
    place
        .members()
        .filter_map(|(name, place)| Some((name.to_owned(), scheme(reader, place)?)))
        .collect()
}

fn scheme<'a>(reader: &Reader<'a>, place: Place<'a>) -> Option<SecurityScheme> {
    let place = reader.object(place, &SCHEME)?;
    let kind = reader.required_text(&place, "type")?;
    let detail = |name| place.get(name).and_then(|it| it.value.as_str());
    let kind = match (
        kind.as_str(),
        detail("scheme"),
        detail("in"),
        detail("name"),
    ) {
        ("http", Some(scheme), None, None) if crate::names::is_plain(scheme) => {
            Credential::Http(scheme.to_ascii_lowercase())
        }
        ("apiKey", None, Some("header"), Some(name)) if crate::names::is_plain(name) => {
            Credential::Header(name.to_owned())
        }
        ("apiKey", None, Some("query"), Some(name)) => Credential::Query(name.to_owned()),
        ("apiKey", None, Some("cookie"), Some(name)) if crate::names::is_plain(name) => {
            Credential::Cookie(name.to_owned())
        }
        ("oauth2", None, None, None) => Credential::OAuth2(scopes(reader, &place)?),
        ("openIdConnect", None, None, None) => {
            reader.required_text(&place, "openIdConnectUrl")?;
            Credential::OpenIdConnect
        }
        _ => {
            reader.refuse(
                &place.pointer,
                "the security scheme is not understood",
                "write `type: http` with `scheme`, `type: apiKey` with `name` and `in: header`, `query` or \
                 `cookie`, `type: oauth2` with `flows`, or `type: openIdConnect` with `openIdConnectUrl`",
            );
            return None;
        }
    };
    Some(SecurityScheme {
        kind,
        description: reader.text(&place, "description"),
    })
}

/// The scopes of all flows.
fn scopes<'a>(reader: &Reader<'a>, scheme: &Place<'a>) -> Option<Vec<String>> {
    let Some(flows) = scheme.get("flows") else {
        reader.missing(scheme, "flows");
        return None;
    };
    let flows = reader.object(flows, &FLOWS)?;
    let mut all = Vec::new();
    for (_, flow) in flows.members() {
        let flow = reader.object(flow, &FLOW)?;
        if let Some(scopes) = flow.get("scopes") {
            reader.expect(&scopes, "an object", Value::as_object)?;
            all.extend(scopes.members().map(|(name, _)| name.to_owned()));
        }
    }
    Some(all)
}

/// Steps 2 and 3: the alternatives in `security`; none for a public operation.
pub(super) fn required(
    reader: &Reader<'_>,
    place: &Place<'_>,
    schemes: &Schemes,
    otherwise: Vec<Vec<Required>>,
) -> Vec<Vec<Required>> {
    let Some(member) = place.get("security") else {
        return otherwise;
    };
    reader.expect(&member, "a list", Value::as_array);
    let alternatives: Vec<_> = member
        .items()
        .map(|item| alternative(reader, &item, schemes))
        .collect();
    match alternatives.iter().all(Vec::is_empty) {
        true => Vec::new(),
        false => alternatives,
    }
}

fn alternative(reader: &Reader<'_>, place: &Place<'_>, schemes: &Schemes) -> Vec<Required> {
    reader.expect(place, "an object", Value::as_object);
    let all = place.members().map(|(name, member)| {
        if !schemes.contains_key(name) && reader.component("securitySchemes", name).is_none() {
            reader.refuse(
                &place.pointer,
                format!("there is no security scheme `{name}`"),
                "write it under components/securitySchemes",
            );
        }
        reader.expect(&member, "a list", Value::as_array);
        let scopes = member
            .items()
            .filter_map(|scope| {
                let text = reader.expect(&scope, "text", Value::as_str)?;
                check_scope(reader, &scope, text, schemes.get(name)?);
                Some(text.to_owned())
            })
            .collect();
        Required {
            scheme: name.to_owned(),
            scopes,
        }
    });
    all.collect()
}

fn check_scope(reader: &Reader<'_>, place: &Place<'_>, scope: &str, scheme: &SecurityScheme) {
    match &scheme.kind {
        Credential::OpenIdConnect => {}
        Credential::OAuth2(scopes) if scopes.iter().any(|it| it == scope) => {}
        Credential::OAuth2(_) => reader.refuse(
            &place.pointer,
            format!("no flow of the scheme has the scope `{scope}`"),
            "write it under `scopes` of a flow, or correct the name",
        ),
        _ => reader.refuse(
            &place.pointer,
            "scopes mean nothing to this kind of scheme",
            "write an empty list, and tell about scopes in the description",
        ),
    }
}

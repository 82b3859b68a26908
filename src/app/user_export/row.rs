//! The exported form of a row of each kind.

use serde_json::{Value, json};

use crate::domain::api_key::ApiKey;
use crate::domain::audit::AuditEvent;
use crate::domain::auth_code::AuthCode;
use crate::domain::browser_session::BrowserSession;
use crate::domain::catalog::Catalog;
use crate::domain::id::TeamId;
use crate::domain::identity::Identity;
use crate::domain::invitation::Invitation;
use crate::domain::letter::Occasion;
use crate::domain::member::ListedMember;
use crate::domain::one_time_link::OneTimeLink;
use crate::domain::passkey::Passkey;
use crate::domain::password::WrongPasswords;
use crate::domain::refused_sign_in::RefusedSignIn;
use crate::domain::session::Session;
use crate::domain::share_link::ShareLink;
use crate::domain::time::Timestamp;

pub(super) fn text(time: Timestamp) -> String {
    time.to_string()
}

pub(super) fn passkey(it: &Passkey) -> Value {
    json!({
        "id": it.id,
        "name": it.name,
        "host": it.rp_id,
        "createdAt": text(it.created_at),
        "lastUsedAt": it.last_used_at.map(text),
    })
}

pub(super) fn identity(it: &Identity) -> Value {
    json!({
        "id": it.id,
        "issuer": it.issuer,
        "subject": it.subject,
        "email": it.email,
        "createdAt": text(it.created_at),
    })
}

pub(super) fn one_time_link(it: &OneTimeLink) -> Value {
    json!({ "purpose": it.purpose.as_str(), "expiresAt": text(it.expires_at) })
}

/// An invitation of the user, or one that the user has sent. Its email is not included: it is the user's own, or somebody else's.
pub(super) fn invitation(it: &Invitation) -> Value {
    json!({
        "id": it.id,
        "teamId": it.team_id,
        "role": it.role,
        "createdAt": text(it.created_at),
        "expiresAt": text(it.expires_at),
    })
}

pub(super) fn letter((occasion, count, since): &(Occasion, i64, Timestamp)) -> Value {
    json!({ "occasion": occasion.as_str(), "count": count, "since": text(*since) })
}

pub(super) fn wrong_password(it: &WrongPasswords) -> Value {
    json!({ "count": it.count, "since": text(it.begun_at) })
}

pub(super) fn browser(it: &BrowserSession) -> Value {
    json!({
        "id": it.id,
        "userAgent": it.user_agent,
        "createdAt": text(it.created_at),
        "signedInAt": text(it.signed_in_at),
        "lastUsedAt": text(it.last_used_at),
    })
}

pub(super) fn app_session(it: &Session) -> Value {
    json!({
        "id": it.id,
        "clientId": it.client_id.to_string(),
        "installId": it.install_id,
        "userAgent": it.user_agent,
        "createdAt": text(it.created_at),
        "lastUsedAt": text(it.last_used_at),
        "expiresAt": text(it.expires_at),
    })
}

pub(super) fn code(it: &AuthCode) -> Value {
    json!({
        "clientId": it.client_id.to_string(),
        "redirectUri": it.redirect_uri,
        "expiresAt": text(it.expires_at),
    })
}

pub(super) fn refused_sign_in(it: &RefusedSignIn) -> Value {
    // A row without an address stands for all other addresses of the day.
    let address = (!it.client_address.is_empty()).then_some(&it.client_address);
    json!({
        "minute": text(it.minute),
        "clientAddress": address,
        "count": it.count,
    })
}

pub(super) fn team(it: &ListedMember) -> Value {
    json!({
        "id": it.member.team_id,
        "name": it.team_name,
        "role": it.member.role,
        "since": text(it.member.created_at),
    })
}

pub(super) fn api_key(it: &ApiKey) -> Value {
    json!({
        "id": it.id,
        "teamId": it.team_id,
        "name": it.name,
        "mode": it.mode,
        "scope": it.scope,
        "createdAt": text(it.created_at),
        "expiresAt": it.expires_at.map(text),
        "revokedAt": it.revoked_at.map(text),
    })
}

pub(super) fn share_link((it, team_id): &(ShareLink, TeamId)) -> Value {
    json!({
        "id": it.id,
        "teamId": team_id,
        "name": it.name,
        "createdAt": text(it.created_at),
    })
}

/// An import plan that waits to be confirmed. The file is not included, since it is the team's.
pub(super) fn import((catalog, since): &(Catalog, Timestamp)) -> Value {
    json!({ "teamId": catalog.team_id, "mode": catalog.mode, "since": text(*since) })
}

pub(super) fn event(it: &AuditEvent) -> Value {
    json!({
        "action": it.action,
        "at": text(it.created_at),
        "teamId": it.team_id,
        "subject": it.subject,
        "detail": it.detail,
        "clientAddress": it.client_address,
        "userAgent": it.user_agent,
    })
}

/// An event of another user. From where they did it is not included, since that is their data.
pub(super) fn event_of_others(it: &AuditEvent) -> Value {
    json!({
        "action": it.action,
        "at": text(it.created_at),
        "teamId": it.team_id,
        "userId": it.actor,
        "detail": it.detail,
    })
}

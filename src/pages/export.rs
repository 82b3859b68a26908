//! All that is stored about a user, as JSON (docs/decisions.md, W12). No secret is in it, and no digest of one.

use serde_json::{Value, json};

use super::failure::Failure;
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::audit::AuditEvent;
use crate::domain::browser_session::BrowserSession;
use crate::domain::identity::Identity;
use crate::domain::list::Part;
use crate::domain::member::ListedMember;
use crate::domain::passkey::Passkey;
use crate::domain::refused_sign_in::RefusedSignIn;
use crate::domain::session::Session;

/// As many events are read at once.
const STEP: u32 = 1000;

/// As many events are told: what one answer may take in memory.
const EVENTS: usize = 10_000;

/// As many rows of refused sign-ins are told.
const REFUSED: u32 = 10_000;

/// As many teams are told.
const TEAMS: u32 = 10_000;

/// The text of the file.
///
/// # Errors
/// [`Failure::NotSignedIn`]; what the store answers.
pub(super) async fn export(visit: &Visit) -> Result<String, Failure> {
    let user = &visit.signed_in()?.user;
    let app = visit.app();
    let teams = app.list_memberships(user.id, Part::first(TEAMS)).await?;
    let (browsers, apps) = app.list_devices(user.id).await?;
    let pending = app.find_email_change(user.id).await?;
    let passkeys = app.list_passkeys(user.id).await?;
    let identities = app.list_identities(user.id).await?;
    let mut events = Vec::new();
    let mut part = Part::first(STEP);
    while events.len() < EVENTS {
        let some = app.list_own_events(user.id, part).await?;
        let Some(last) = some.last() else { break };
        part.after = Some(last.id);
        events.extend(some.iter().map(event));
    }
    // One more than is told says whether there are more.
    let refused = app.list_all_refused_sign_ins(user.id, REFUSED + 1).await?;
    let told = refused.iter().take(REFUSED as usize);
    let all = json!({
        "user": {
            "id": user.id,
            "email": user.email,
            "name": user.name,
            "createdAt": user.created_at.to_string(),
            // Until the link to it is followed, or an hour is over.
            "newEmail": pending.map(|it| it.email),
        },
        "teams": teams.iter().map(team).collect::<Vec<_>>(),
        "passkeys": passkeys.iter().map(passkey).collect::<Vec<_>>(),
        "identities": identities.iter().map(identity).collect::<Vec<_>>(),
        "browsers": browsers.iter().map(browser).collect::<Vec<_>>(),
        "apps": apps.iter().map(app_session).collect::<Vec<_>>(),
        "refusedSignIns": told.map(refused_sign_in).collect::<Vec<_>>(),
        "moreRefusedSignIns": refused.len() > REFUSED as usize,
        "done": events,
        // The newest are there.
        "moreDone": events.len() >= EVENTS,
    });
    let text = serde_json::to_string_pretty(&all).map_err(Error::internal)?;
    Ok(text)
}

fn team(it: &ListedMember) -> Value {
    json!({
        "id": it.member.team_id,
        "name": it.team_name,
        "role": it.member.role,
        "since": it.member.created_at.to_string(),
    })
}

fn passkey(it: &Passkey) -> Value {
    json!({
        "id": it.id,
        "name": it.name,
        "host": it.rp_id,
        "createdAt": it.created_at.to_string(),
        "lastUsedAt": it.last_used_at.map(|at| at.to_string()),
    })
}

fn identity(it: &Identity) -> Value {
    json!({
        "id": it.id,
        "issuer": it.issuer,
        "subject": it.subject,
        "email": it.email,
        "createdAt": it.created_at.to_string(),
    })
}

fn browser(it: &BrowserSession) -> Value {
    json!({
        "id": it.id,
        "userAgent": it.user_agent,
        "createdAt": it.created_at.to_string(),
        "signedInAt": it.signed_in_at.to_string(),
        "lastUsedAt": it.last_used_at.to_string(),
    })
}

fn app_session(it: &Session) -> Value {
    json!({
        "id": it.id,
        "clientId": it.client_id.to_string(),
        "installId": it.install_id,
        "userAgent": it.user_agent,
        "createdAt": it.created_at.to_string(),
        "lastUsedAt": it.last_used_at.to_string(),
        "expiresAt": it.expires_at.to_string(),
    })
}

fn refused_sign_in(it: &RefusedSignIn) -> Value {
    // What has no address is of all others of the day.
    let address = (!it.client_address.is_empty()).then_some(&it.client_address);
    json!({
        "minute": it.minute.to_string(),
        "clientAddress": address,
        "count": it.count,
    })
}

fn event(it: &AuditEvent) -> Value {
    json!({
        "action": it.action,
        "at": it.created_at.to_string(),
        "teamId": it.team_id,
        "subject": it.subject,
        "detail": it.detail,
        "clientAddress": it.client_address,
        "userAgent": it.user_agent,
    })
}

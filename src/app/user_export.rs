//! All that is stored about a user, as JSON (docs/decisions.md, W12 and X59). No secret is in it, and no digest of one, and of
//! others no more than their ids.

use serde_json::{Map, Value, json};

use super::App;
use super::user::require_user;
use crate::domain::Error;
use crate::domain::api_key::ApiKey;
use crate::domain::audit::{Action, Actor, AuditEvent};
use crate::domain::auth_code::AuthCode;
use crate::domain::browser_session::BrowserSession;
use crate::domain::catalog::Catalog;
use crate::domain::holder::Holder;
use crate::domain::id::{AuditEventId, TeamId, UserId};
use crate::domain::identity::Identity;
use crate::domain::invitation::Invitation;
use crate::domain::letter::Occasion;
use crate::domain::list::Part;
use crate::domain::member::ListedMember;
use crate::domain::one_time_link::OneTimeLink;
use crate::domain::passkey::Passkey;
use crate::domain::password::{WrongPasswords, account};
use crate::domain::refused_sign_in::RefusedSignIn;
use crate::domain::session::Session;
use crate::domain::share_link::ShareLink;
use crate::domain::time::Timestamp;
use crate::domain::user::User;
use crate::store::{
    Sql, api_key, audit, auth_code, browser_session, email_change, identity, invitation,
    mail_count, member, one_time_link, passkey, password, product_import, session, share_link,
    user,
};

/// As many rows of each kind are told: what one answer may take in memory.
const MOST: usize = 10_000;

/// One more says whether there are more.
const ASKED: u32 = MOST as u32 + 1;

/// As many events are read and told at a time, which SQLite and this do on an async thread: others go on in between.
const AT_ONCE: u32 = 500;

impl App {
    /// The same as [`export_user`](App::export_user), for the operator: the audit says that it was given out. (A person's own is
    /// not told of there, since they look at it by a GET, which changes nothing.)
    ///
    /// # Errors
    /// As of [`export_user`](App::export_user).
    pub async fn export_user_for_operator(&self, id: UserId) -> Result<Value, Error> {
        let event = self.event(&Actor::Operator, Action::ExportUser).to(id.0);
        let tell = async move |sql: Sql<'_>| {
            let told = (require_user(id), audit::insert(&event));
            sql.run(told).await.map(drop)
        };
        self.store.write(Holder::Service, tell).await?;
        self.export_user(id).await
    }

    /// All that is stored about a user; of each kind of rows the first 10,000, and whether there are more (`moreDone`).
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown user; what the store answers.
    pub async fn export_user(&self, id: UserId) -> Result<Value, Error> {
        let mut all = Map::new();
        self.tell_of_account(id, &mut all).await?;
        self.tell_of_sessions(id, &mut all).await?;
        self.tell_of_work(id, &mut all).await?;
        self.tell_of_events(id, &mut all).await?;
        Ok(Value::Object(all))
    }

    /// Who it is, how they sign in, and what is under way about it.
    async fn tell_of_account(&self, id: UserId, all: &mut Map<String, Value>) -> Result<(), Error> {
        let now = self.now();
        let find = async move |sql: Sql<'_>| {
            let user = sql.run(user::find(id)).await?;
            let user = user.ok_or_else(|| User::missing(id))?;
            let account = account(&user.email);
            let password = (
                password::find_changed_at(id),
                password::list_wrong(&account),
            );
            let email = (
                email_change::find_pending(id, now),
                invitation::list_of(&user.email, ASKED),
                mail_count::list(id),
            );
            let ways = (
                passkey::list(id),
                identity::list(id),
                one_time_link::list(id),
            );
            let found = sql.run((password, email, ways)).await?;
            Ok((user, found))
        };
        let (user, (password, email, ways)) = self.store.read(id, find).await?;
        let (changed_at, wrong) = password;
        let (pending, invitations, letters) = email;
        let (passkeys, identities, links) = ways;
        let account = json!({
            "id": user.id,
            "email": user.email,
            "name": user.name,
            "createdAt": text(user.created_at),
            "deactivatedAt": user.deactivated_at.map(text),
            "passwordChangedAt": changed_at.map(text),
            // Until the link to it is followed, or an hour is over.
            "newEmail": pending.map(|it| it.email),
        });
        all.insert("user".into(), account);
        tell(all, "passkeys", "morePasskeys", &passkeys, passkey);
        tell(all, "identities", "moreIdentities", &identities, identity);
        tell(all, "links", "moreLinks", &links, one_time_link);
        tell(
            all,
            "invitations",
            "moreInvitations",
            &invitations,
            invitation,
        );
        tell(all, "letters", "moreLetters", &letters, letter);
        tell(
            all,
            "wrongPasswords",
            "moreWrongPasswords",
            &wrong,
            wrong_password,
        );
        Ok(())
    }

    /// Where they are signed in, and where somebody was refused.
    async fn tell_of_sessions(
        &self,
        id: UserId,
        all: &mut Map<String, Value>,
    ) -> Result<(), Error> {
        let now = self.now();
        let find = async move |sql: Sql<'_>| {
            sql.run((
                browser_session::list(id, now, ASKED),
                session::list(id, now, Part::first(ASKED)),
                auth_code::list_unused(id),
            ))
            .await
        };
        let (browsers, apps, codes) = self.store.read(id, find).await?;
        let refused = self.list_all_refused_sign_ins(id, ASKED).await?;
        tell(all, "browsers", "moreBrowsers", &browsers, browser);
        tell(all, "apps", "moreApps", &apps, app_session);
        tell(all, "codes", "moreCodes", &codes, code);
        tell(
            all,
            "refusedSignIns",
            "moreRefusedSignIns",
            &refused,
            refused_sign_in,
        );
        Ok(())
    }

    /// The teams that they are in, and what they have made there.
    async fn tell_of_work(&self, id: UserId, all: &mut Map<String, Value>) -> Result<(), Error> {
        let find = async move |sql: Sql<'_>| {
            sql.run((
                member::list_teams(id, Part::first(ASKED)),
                api_key::list_made_by(id, ASKED),
                share_link::list_made_by(id, ASKED),
                product_import::list_of(id, ASKED),
            ))
            .await
        };
        let (teams, keys, links, imports) = self.store.read(id, find).await?;
        tell(all, "teams", "moreTeams", &teams, team);
        tell(all, "apiKeys", "moreApiKeys", &keys, api_key);
        tell(all, "shareLinks", "moreShareLinks", &links, share_link);
        tell(all, "imports", "moreImports", &imports, import);
        Ok(())
    }

    /// What they have done, and what others have done to them; the newest.
    async fn tell_of_events(&self, id: UserId, all: &mut Map<String, Value>) -> Result<(), Error> {
        let mut done = Events::told_by(event);
        while let Some(part) = done.next {
            done.take(self.list_own_events(id, part).await?);
            tokio::task::yield_now().await;
        }
        done.tell(all, "done", "moreDone");
        let mut about = Events::told_by(event_of_others);
        while let Some(part) = about.next {
            let list = async move |sql: Sql<'_>| sql.run(audit::list_about(id, part)).await;
            about.take(self.store.read(id, list).await?);
            tokio::task::yield_now().await;
        }
        about.tell(all, "doneByOthers", "moreDoneByOthers");
        Ok(())
    }
}

/// Tells of the first rows of a kind, and whether there are more.
fn tell<T>(all: &mut Map<String, Value>, name: &str, more: &str, rows: &[T], row: fn(&T) -> Value) {
    let told: Vec<Value> = rows.iter().take(MOST).map(row).collect();
    all.insert(name.to_owned(), told.into());
    all.insert(more.to_owned(), (rows.len() > MOST).into());
}

/// Events that are read and told part by part.
struct Events {
    row: fn(&AuditEvent) -> Value,
    told: Vec<Value>,
    /// What is to be read next, if there may be more.
    next: Option<Part<AuditEventId>>,
}

impl Events {
    fn told_by(row: fn(&AuditEvent) -> Value) -> Events {
        Events {
            row,
            told: Vec::new(),
            next: Some(Part::first(AT_ONCE)),
        }
    }

    /// The next part is read.
    fn take(&mut self, events: Vec<AuditEvent>) {
        self.told.extend(events.iter().map(self.row));
        let goes_on = events.len() == AT_ONCE as usize && self.told.len() <= MOST;
        let next = events.last().filter(|_| goes_on).map(|last| Part {
            after: Some(last.id),
            limit: AT_ONCE,
        });
        self.next = next;
    }

    /// As of [`tell`].
    fn tell(mut self, all: &mut Map<String, Value>, name: &str, more: &str) {
        all.insert(more.to_owned(), (self.told.len() > MOST).into());
        self.told.truncate(MOST);
        all.insert(name.to_owned(), self.told.into());
    }
}

fn text(time: Timestamp) -> String {
    time.to_string()
}

fn passkey(it: &Passkey) -> Value {
    json!({
        "id": it.id,
        "name": it.name,
        "host": it.rp_id,
        "createdAt": text(it.created_at),
        "lastUsedAt": it.last_used_at.map(text),
    })
}

fn identity(it: &Identity) -> Value {
    json!({
        "id": it.id,
        "issuer": it.issuer,
        "subject": it.subject,
        "email": it.email,
        "createdAt": text(it.created_at),
    })
}

fn one_time_link(it: &OneTimeLink) -> Value {
    json!({ "purpose": it.purpose.as_str(), "expiresAt": text(it.expires_at) })
}

fn invitation(it: &Invitation) -> Value {
    json!({
        "id": it.id,
        "teamId": it.team_id,
        "role": it.role,
        "createdAt": text(it.created_at),
        "expiresAt": text(it.expires_at),
    })
}

fn letter((occasion, count, since): &(Occasion, i64, Timestamp)) -> Value {
    json!({ "occasion": occasion.as_str(), "count": count, "since": text(*since) })
}

fn wrong_password(it: &WrongPasswords) -> Value {
    json!({ "count": it.count, "since": text(it.begun_at) })
}

fn browser(it: &BrowserSession) -> Value {
    json!({
        "id": it.id,
        "userAgent": it.user_agent,
        "createdAt": text(it.created_at),
        "signedInAt": text(it.signed_in_at),
        "lastUsedAt": text(it.last_used_at),
    })
}

fn app_session(it: &Session) -> Value {
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

fn code(it: &AuthCode) -> Value {
    json!({
        "clientId": it.client_id.to_string(),
        "redirectUri": it.redirect_uri,
        "expiresAt": text(it.expires_at),
    })
}

fn refused_sign_in(it: &RefusedSignIn) -> Value {
    // What has no address is of all others of the day.
    let address = (!it.client_address.is_empty()).then_some(&it.client_address);
    json!({
        "minute": text(it.minute),
        "clientAddress": address,
        "count": it.count,
    })
}

fn team(it: &ListedMember) -> Value {
    json!({
        "id": it.member.team_id,
        "name": it.team_name,
        "role": it.member.role,
        "since": text(it.member.created_at),
    })
}

fn api_key(it: &ApiKey) -> Value {
    json!({
        "id": it.id,
        "teamId": it.team_id,
        "name": it.name,
        "createdAt": text(it.created_at),
        "revokedAt": it.revoked_at.map(text),
    })
}

fn share_link((it, team_id): &(ShareLink, TeamId)) -> Value {
    json!({
        "id": it.id,
        "teamId": team_id,
        "name": it.name,
        "createdAt": text(it.created_at),
    })
}

/// A plan that waits to be confirmed; the file is the team's.
fn import((catalog, since): &(Catalog, Timestamp)) -> Value {
    json!({ "teamId": catalog.team_id, "mode": catalog.mode, "since": text(*since) })
}

fn event(it: &AuditEvent) -> Value {
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

/// From where others do what they do is theirs.
fn event_of_others(it: &AuditEvent) -> Value {
    json!({
        "action": it.action,
        "at": text(it.created_at),
        "teamId": it.team_id,
        "userId": it.actor,
        "detail": it.detail,
    })
}

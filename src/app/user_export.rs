//! All that is stored about a user, as JSON (docs/decisions.md, W12 and X59). No secret is in it, and no digest of one, and of
//! others no more than their ids.

use serde_json::{Value, json};
use tokio::sync::mpsc;

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

/// As many rows of each kind are told: some megabytes of text.
const MOST: usize = 10_000;

/// One more says whether there are more.
const ASKED: u32 = MOST as u32 + 1;

/// As many rows are told at a time, and events read, which SQLite and this do on an async thread: others go on in between.
const AT_ONCE: u32 = 500;

/// The least bytes of a piece, but for the last: of smaller ones, the server could not tell that a peer takes none.
const PIECE: usize = 128 * 1024;

impl App {
    /// The same as [`export_user`](App::export_user), for the operator: the audit says that it was given out. (A person's own is
    /// not told of there, since they look at it by a GET, which changes nothing.)
    ///
    /// # Errors
    /// As of [`export_user`](App::export_user).
    pub async fn export_user_for_operator(&self, id: UserId) -> Result<String, Error> {
        let event = self.event(&Actor::Operator, Action::ExportUser).to(id.0);
        let tell = async move |sql: Sql<'_>| {
            let told = (require_user(id), audit::insert(&event));
            sql.run(told).await.map(drop)
        };
        self.store.write(Holder::Service, tell).await?;
        self.export_user(id).await
    }

    /// All that is stored about a user, whole.
    ///
    /// # Errors
    /// As of [`tell_of_user`](App::tell_of_user).
    pub async fn export_user(&self, id: UserId) -> Result<String, Error> {
        let (to, mut pieces) = mpsc::channel::<String>(1);
        let whole = async {
            let mut whole = String::new();
            while let Some(piece) = pieces.recv().await {
                whole += &piece;
            }
            whole
        };
        let (told, whole) = tokio::join!(self.tell_of_user(id, to), whole);
        told.map(|()| whole)
    }

    /// All that is stored about a user, as indented JSON; of each kind of rows the first 10,000, and whether there are more
    /// (`moreDone`). It goes piece by piece to whoever takes it, and the next is read when the one before was taken: no more
    /// of it than one kind of rows is in memory.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown user; what the store answers; [`Error::Unavailable`] when nobody takes it any more.
    pub async fn tell_of_user(&self, id: UserId, to: mpsc::Sender<String>) -> Result<(), Error> {
        let mut all = Told::to(to);
        self.tell_of_account(id, &mut all).await?;
        self.tell_of_sessions(id, &mut all).await?;
        self.tell_of_work(id, &mut all).await?;
        self.tell_of_events(id, &mut all).await?;
        all.end().await
    }

    /// Who it is, how they sign in, and what is under way about it.
    async fn tell_of_account(&self, id: UserId, all: &mut Told) -> Result<(), Error> {
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
        all.member("user", &account);
        all.rows("passkeys", "morePasskeys", &passkeys, passkey)
            .await?;
        all.rows("identities", "moreIdentities", &identities, identity)
            .await?;
        all.rows("links", "moreLinks", &links, one_time_link)
            .await?;
        all.rows("invitations", "moreInvitations", &invitations, invitation)
            .await?;
        all.rows("letters", "moreLetters", &letters, letter).await?;
        all.rows(
            "wrongPasswords",
            "moreWrongPasswords",
            &wrong,
            wrong_password,
        )
        .await?;
        Ok(())
    }

    /// Where they are signed in, and where somebody was refused. One kind after the other: none waits in memory.
    async fn tell_of_sessions(&self, id: UserId, all: &mut Told) -> Result<(), Error> {
        let now = self.now();
        let list = async move |sql: Sql<'_>| sql.run(browser_session::list(id, now, ASKED)).await;
        let browsers = self.store.read(id, list).await?;
        all.rows("browsers", "moreBrowsers", &browsers, browser)
            .await?;
        drop(browsers);
        let part = Part::first(ASKED);
        let list = async move |sql: Sql<'_>| sql.run(session::list(id, now, part)).await;
        let apps = self.store.read(id, list).await?;
        all.rows("apps", "moreApps", &apps, app_session).await?;
        drop(apps);
        let list = async move |sql: Sql<'_>| sql.run(auth_code::list_unused(id, ASKED)).await;
        let codes = self.store.read(id, list).await?;
        all.rows("codes", "moreCodes", &codes, code).await?;
        drop(codes);
        let refused = self.list_all_refused_sign_ins(id, ASKED).await?;
        let (name, more) = ("refusedSignIns", "moreRefusedSignIns");
        all.rows(name, more, &refused, refused_sign_in).await?;
        Ok(())
    }

    /// The teams that they are in, and what they have made there, one kind after the other.
    async fn tell_of_work(&self, id: UserId, all: &mut Told) -> Result<(), Error> {
        let part = Part::first(ASKED);
        let list = async move |sql: Sql<'_>| sql.run(member::list_teams(id, part)).await;
        let teams = self.store.read(id, list).await?;
        all.rows("teams", "moreTeams", &teams, team).await?;
        drop(teams);
        let list = async move |sql: Sql<'_>| sql.run(api_key::list_made_by(id, ASKED)).await;
        let keys = self.store.read(id, list).await?;
        all.rows("apiKeys", "moreApiKeys", &keys, api_key).await?;
        drop(keys);
        let list = async move |sql: Sql<'_>| sql.run(share_link::list_made_by(id, ASKED)).await;
        let links = self.store.read(id, list).await?;
        all.rows("shareLinks", "moreShareLinks", &links, share_link)
            .await?;
        drop(links);
        let list = async move |sql: Sql<'_>| sql.run(product_import::list_of(id, ASKED)).await;
        let imports = self.store.read(id, list).await?;
        all.rows("imports", "moreImports", &imports, import).await?;
        Ok(())
    }

    /// What they have done, and what others have done to them; the newest.
    async fn tell_of_events(&self, id: UserId, all: &mut Told) -> Result<(), Error> {
        let mut done = Events::begin(all, "done", event);
        while let Some(part) = done.next {
            done.take(self.list_own_events(id, part).await?).await?;
        }
        done.end("moreDone");
        let mut about = Events::begin(all, "doneByOthers", event_of_others);
        while let Some(part) = about.next {
            let list = async move |sql: Sql<'_>| sql.run(audit::list_about(id, part)).await;
            about.take(self.store.read(id, list).await?).await?;
        }
        about.end("moreDoneByOthers");
        Ok(())
    }
}

/// What is told: the members of an object.
struct Told {
    to: mpsc::Sender<String>,
    is_begun: bool,
    /// What has not gone yet.
    text: String,
}

impl Told {
    fn to(to: mpsc::Sender<String>) -> Told {
        Told {
            to,
            is_begun: false,
            text: String::new(),
        }
    }

    /// Hands over what is large enough, and lets others go on.
    async fn pass_on(&mut self) -> Result<(), Error> {
        if self.text.len() >= PIECE {
            self.hand_over().await?;
        }
        tokio::task::yield_now().await;
        Ok(())
    }

    async fn hand_over(&mut self) -> Result<(), Error> {
        let piece = std::mem::take(&mut self.text);
        self.to.send(piece).await.map_err(Error::unavailable)
    }

    async fn end(mut self) -> Result<(), Error> {
        self.text += "\n}";
        self.hand_over().await
    }

    /// A member.
    fn member(&mut self, name: &str, value: &Value) {
        self.name(name);
        self.text += &format!("{value:#}").replace('\n', "\n  ");
    }

    fn name(&mut self, name: &str) {
        let before = if self.is_begun { ",\n" } else { "{\n" };
        self.is_begun = true;
        self.text += &format!("{before}  \"{name}\": ");
    }

    /// The first rows of a kind, and whether there are more.
    async fn rows<T>(
        &mut self,
        name: &str,
        more: &str,
        rows: &[T],
        row: fn(&T) -> Value,
    ) -> Result<(), Error> {
        self.name(name);
        let told = &rows[..rows.len().min(MOST)];
        for (number, part) in told.chunks(AT_ONCE as usize).enumerate() {
            self.elements(part.iter().map(row), number == 0);
            self.pass_on().await?;
        }
        self.end_of_rows(told.is_empty());
        self.member(more, &(rows.len() > MOST).into());
        Ok(())
    }

    /// Elements of a list, as they stand in a member.
    fn elements(&mut self, elements: impl Iterator<Item = Value>, are_first: bool) {
        for (number, element) in elements.enumerate() {
            self.text += if are_first && number == 0 { "[" } else { "," };
            self.text += "\n    ";
            self.text += &format!("{element:#}").replace('\n', "\n    ");
        }
    }

    fn end_of_rows(&mut self, are_none: bool) {
        self.text += if are_none { "[]" } else { "\n  ]" };
    }
}

/// Events that are read and told part by part.
struct Events<'a> {
    all: &'a mut Told,
    row: fn(&AuditEvent) -> Value,
    told: usize,
    /// Whether there are more than are told.
    has_more: bool,
    /// What is to be read next, if there may be more.
    next: Option<Part<AuditEventId>>,
}

impl Events<'_> {
    fn begin<'a>(all: &'a mut Told, name: &str, row: fn(&AuditEvent) -> Value) -> Events<'a> {
        all.name(name);
        Events {
            all,
            row,
            told: 0,
            has_more: false,
            next: Some(Part::first(AT_ONCE)),
        }
    }

    /// The next part is read.
    async fn take(&mut self, events: Vec<AuditEvent>) -> Result<(), Error> {
        let room = MOST - self.told;
        let told = &events[..events.len().min(room)];
        self.all.elements(told.iter().map(self.row), self.told == 0);
        self.told += told.len();
        self.has_more = events.len() > room;
        let goes_on = events.len() == AT_ONCE as usize && !self.has_more;
        let next = events.last().filter(|_| goes_on).map(|last| Part {
            after: Some(last.id),
            limit: AT_ONCE,
        });
        self.next = next;
        self.all.pass_on().await
    }

    /// As of [`Told::rows`].
    fn end(self, more: &str) {
        self.all.end_of_rows(self.told == 0);
        self.all.member(more, &self.has_more.into());
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

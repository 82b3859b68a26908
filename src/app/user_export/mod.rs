//! Exports everything stored about a user, as JSON (docs/decisions.md, W12 and X59). It contains no secret, no digest of
//! one, and nothing about other users but their ids.

mod row;
mod told;

use serde_json::json;
use tokio::sync::mpsc;
use uuid::Uuid;

use self::row::text;
use self::told::{ASKED, Parts, Told};
use super::App;
use super::user::require_user;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor};
use crate::domain::holder::Holder;
use crate::domain::id::{TeamId, UserId};
use crate::domain::list::Part;
use crate::domain::password::account;
use crate::domain::user::User;
use crate::pause::BusyTime;
use crate::store::{
    Batch, Sql, api_key, audit, auth_code, browser_session, email_change, identity, invitation,
    mail_count, member, one_time_link, passkey, password, product_import, session, share_link,
    user,
};

/// How many unused codes are exported: each expires within minutes, and has a long address.
const CODES: usize = 100;

impl App {
    /// Like [`export_user`](App::export_user), for the operator: the export is recorded in the audit. (A user's own export
    /// is not, since it is a GET, which changes nothing.)
    ///
    /// # Errors
    /// As for [`export_user`](App::export_user).
    pub async fn export_user_for_operator(&self, id: UserId) -> Result<String, Error> {
        let event = self.event(&Actor::Operator, Action::ExportUser).to(id.0);
        let tell = async move |sql: Sql<'_>| {
            let told = (require_user(id), audit::insert(&event));
            sql.run(told).await.map(drop)
        };
        self.store.write(Holder::Service, tell).await?;
        self.export_user(id).await
    }

    /// Exports everything stored about a user, as one text.
    ///
    /// # Errors
    /// As for [`tell_of_user`](App::tell_of_user).
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

    /// Exports everything stored about a user, as indented JSON: the first 10,000 rows of each kind (fewer codes), and
    /// whether there are more (`moreDone`). It is sent piece by piece, and the next piece is read once the one before was
    /// taken: of what may be long, no more than a piece is in memory. Exports of a team's users are made in the team's turns.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown user; any store error; [`Error::Unavailable`] when the receiver is gone.
    pub async fn tell_of_user(&self, id: UserId, to: mpsc::Sender<String>) -> Result<(), Error> {
        let busy = BusyTime::default();
        let tell = async {
            // All users of no team have the turns of one.
            let team = self.oldest_team(id).await?.unwrap_or(TeamId(Uuid::nil()));
            let holder = team.into();
            let mut all = Told::to(to, holder, self.part_turns.clone(), &busy).await?;
            self.tell_of_account(id, &mut all).await?;
            self.tell_of_sessions(id, &mut all).await?;
            self.tell_of_work(id, &mut all).await?;
            self.tell_of_events(id, &mut all).await?;
            all.end().await
        };
        busy.measure(tell).await
    }

    /// Writes a list of rows that may be many, or long, and whether there are more: each part is read by what `list` makes.
    async fn tell_list<
        T: Send + 'static,
        Id: Copy + Send + Sync + 'static,
        L: Batch<Out = Vec<T>>,
    >(
        &self,
        mut rows: Parts<'_, T, Id>,
        more: &str,
        list: impl Fn(Part<Id>) -> L + Copy + Send + Sync + 'static,
    ) -> Result<(), Error> {
        while let Some(part) = rows.next {
            let read = async move |sql: Sql<'_>| sql.run(list(part)).await;
            rows.take(self.store.read(Holder::Parts, read).await?)
                .await?;
        }
        rows.end(more);
        Ok(())
    }

    /// Writes who the user is, how they sign in, and what is pending.
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
        let (user, (password, email, ways)) = self.store.read(Holder::Parts, find).await?;
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
        all.rows("passkeys", "morePasskeys", &passkeys, row::passkey)
            .await?;
        all.rows("identities", "moreIdentities", &identities, row::identity)
            .await?;
        all.rows("links", "moreLinks", &links, row::one_time_link)
            .await?;
        all.rows(
            "invitations",
            "moreInvitations",
            &invitations,
            row::invitation,
        )
        .await?;
        all.rows("letters", "moreLetters", &letters, row::letter)
            .await?;
        all.rows(
            "wrongPasswords",
            "moreWrongPasswords",
            &wrong,
            row::wrong_password,
        )
        .await?;
        Ok(())
    }

    /// Writes where the user is signed in, and the sign-ins that were refused.
    async fn tell_of_sessions(&self, id: UserId, all: &mut Told) -> Result<(), Error> {
        let now = self.now();
        let browsers = all.parts("browsers", row::browser, |it| it.id);
        self.tell_list(browsers, "moreBrowsers", move |part| {
            browser_session::list(id, now, part)
        })
        .await?;
        let apps = all.parts("apps", row::app_session, |it| it.id);
        self.tell_list(apps, "moreApps", move |part| session::list(id, now, part))
            .await?;
        let list =
            async move |sql: Sql<'_>| sql.run(auth_code::list_unused(id, CODES as u32 + 1)).await;
        let codes = self.store.read(Holder::Parts, list).await?;
        let name = ("codes", "moreCodes");
        all.rows_up_to(CODES, name, &codes, row::code).await?;
        let refused = self.list_all_refused_sign_ins(id, ASKED).await?;
        let (name, more) = ("refusedSignIns", "moreRefusedSignIns");
        all.rows(name, more, &refused, row::refused_sign_in).await?;
        Ok(())
    }

    /// Writes the user's teams, and what the user has made there.
    async fn tell_of_work(&self, id: UserId, all: &mut Told) -> Result<(), Error> {
        let teams = all.parts("teams", row::team, |it| it.member.team_id);
        self.tell_list(teams, "moreTeams", move |part| member::list_teams(id, part))
            .await?;
        let sent = all.parts("invitationsSent", row::invitation, |it| it.id);
        self.tell_list(sent, "moreInvitationsSent", move |part| {
            invitation::list_sent_by(id, part)
        })
        .await?;
        let keys = all.parts("apiKeys", row::api_key, |it| it.id);
        self.tell_list(keys, "moreApiKeys", move |part| {
            api_key::list_made_by(id, part)
        })
        .await?;
        let links = all.parts("shareLinks", row::share_link, |it| it.0.id);
        self.tell_list(links, "moreShareLinks", move |part| {
            share_link::list_made_by(id, part)
        })
        .await?;
        let list = async move |sql: Sql<'_>| sql.run(product_import::list_of(id, ASKED)).await;
        let imports = self.store.read(Holder::Parts, list).await?;
        all.rows("imports", "moreImports", &imports, row::import)
            .await?;
        Ok(())
    }

    /// Writes what the user has done, and what others have done to them; the newest of each.
    async fn tell_of_events(&self, id: UserId, all: &mut Told) -> Result<(), Error> {
        let mut done = all.parts("done", row::event, |it| it.id);
        while let Some(part) = done.next {
            done.take(self.list_own_events(id, part).await?).await?;
        }
        done.end("moreDone");
        let about = all.parts("doneByOthers", row::event_of_others, |it| it.id);
        self.tell_list(about, "moreDoneByOthers", move |part| {
            audit::list_about(id, part)
        })
        .await?;
        Ok(())
    }
}

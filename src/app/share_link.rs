//! Share links ([`crate::domain::share_link`]).

use super::App;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent};
use crate::domain::holder::Holder;
use crate::domain::id::{ShareLinkId, TeamId, UserId};
use crate::domain::input::end_of;
use crate::domain::input::typed_text;
use crate::domain::item::ItemId;
use crate::domain::list::Part;
use crate::domain::secret::Secret;
use crate::domain::share_link::{
    CreateLink, LINKS_PER_ITEM, ListedShareLink, NewShareLink, ShareLink,
};
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, audit, item, member, share_link};

use super::member::{require_member, require_writer};
use super::team::require_team;
use super::user::{require_user, require_user_exists};

/// Most bytes of a password. Hashing takes time for each, so there is a limit.
const PASSWORD_LENGTH: usize = 1024;

impl App {
    /// The unrevoked links of a team's item, newest first, for a caller who is a member of the team.
    ///
    /// # Errors
    /// [`Error::NotAMember`]; [`Error::ItemNotFound`] when the team has no such item.
    pub async fn list_links(
        &self,
        caller: UserId,
        team_id: TeamId,
        item_id: ItemId,
    ) -> Result<Vec<ShareLink>, Error> {
        self.store
            .read(team_id, async move |sql| {
                // In the order of B3 (docs/decisions.md): only a member is told whether there is such an item.
                let member = require_member(team_id, caller);
                let exists = item::exists(team_id, item_id).rule(|exists| match exists {
                    true => Ok(()),
                    false => Err(Error::ItemNotFound),
                });
                let links = share_link::list(team_id, item_id);
                let (_, (), links) = sql.run((member, exists, links)).await?;
                Ok(links)
            })
            .await
    }

    /// The unrevoked links of a team, newest first, for the operator.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown team; any store error.
    pub async fn list_team_links(
        &self,
        team_id: TeamId,
        part: Part<ShareLinkId>,
    ) -> Result<Vec<ShareLink>, Error> {
        let calls = async move |sql: Sql<'_>| {
            sql.run((require_team(team_id), share_link::list_team(team_id, part)))
                .await
        };
        let ((), links) = self.store.read(Holder::Service, calls).await?;
        Ok(links)
    }

    /// The unrevoked links that a user has made in all teams, newest first, for the operator.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown user; any store error.
    pub async fn list_user_links(
        &self,
        user_id: UserId,
        part: Part<ShareLinkId>,
    ) -> Result<Vec<ShareLink>, Error> {
        let calls = async move |sql: Sql<'_>| {
            sql.run((
                require_user_exists(user_id),
                share_link::list_user(user_id, part),
            ))
            .await
        };
        let ((), links) = self.store.read(Holder::Service, calls).await?;
        Ok(links)
    }

    /// The unrevoked links of a team, newest first, with the names of their items, for a member of the team.
    ///
    /// # Errors
    /// [`Error::NotAMember`]; any store error.
    pub async fn list_named_links(
        &self,
        user_id: UserId,
        team_id: TeamId,
        part: Part<ShareLinkId>,
    ) -> Result<Vec<ListedShareLink>, Error> {
        let calls = async move |sql: Sql<'_>| {
            let links = share_link::list_named(team_id, part);
            let (_, links) = sql.run((require_member(team_id, user_id), links)).await?;
            Ok(links)
        };
        self.store.read(user_id, calls).await
    }

    /// The link with this id, unless it is revoked, for the operator.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none; any store error.
    pub async fn get_link(&self, id: ShareLinkId) -> Result<ShareLink, Error> {
        let calls = async move |sql: Sql<'_>| sql.run(share_link::find_id(id)).await;
        let found = self.store.read(Holder::Service, calls).await?;
        found.ok_or_else(|| ShareLink::missing(id))
    }

    /// Makes a link to an item.
    ///
    /// # Errors
    /// [`Error::Missing`] for an item or user that does not exist, [`Error::NotAMember`] for a user who is not in the item's
    /// team, [`Error::Refused`] for an item with [`LINKS_PER_ITEM`] links, and for an empty password or one of more than a
    /// kilobyte; [`Error::Invalid`] for an invalid name.
    pub async fn create_link(&self, mut create: CreateLink) -> Result<ShareLink, Error> {
        create.name = create
            .name
            .map(|name| typed_text("link's name", &name))
            .transpose()?;
        let password_hash = match create.password.take() {
            Some(password) => {
                let password = link_password(password)?;
                Some(
                    self.hashing
                        .hash(Holder::Service.into(), move || Ok(password.clone()))
                        .await?,
                )
            }
            None => None,
        };
        let now = self.now();
        let link = NewShareLink {
            id: self.ids.next(now),
            expires_at: create
                .expires_in
                .map(|time| end_of(now, time))
                .transpose()?,
            create,
            secret: Secret::base62(),
            password_hash,
            now,
        };
        let event = self.event(&Actor::Operator, Action::CreateLink);
        let event = event.to(link.id.0);
        self.store
            .write(Holder::Service, async move |sql| {
                create_link(sql, &link, &event).await
            })
            .await
    }

    /// Ends a link, at once and for ever. Revoking it again changes nothing.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such link; [`Error::NotAMember`] and [`Error::RoleInsufficient`] for a person who
    /// is not allowed to.
    pub async fn revoke_link(&self, by: &Actor, id: ShareLinkId) -> Result<(), Error> {
        let now = self.now();
        let event = self.event(by, Action::RevokeLink).to(id.0);
        let actor = by.clone();
        self.store
            .write(by, async move |sql| {
                let missing = || ShareLink::missing(id);
                let team_id = sql.run(share_link::find_team(id)).await?;
                let team_id = team_id.ok_or_else(missing)?;
                // The role before the link, as when a team's links end with its last member.
                require_writer(sql, &actor, team_id).await?;
                let is_revoked = sql.run(share_link::lock(team_id, id)).await?;
                if is_revoked.ok_or_else(missing)? {
                    return Ok(());
                }
                let event = event.clone().in_team(team_id);
                sql.run((share_link::revoke(team_id, id, now), audit::insert(&event)))
                    .await
                    .map(drop)
            })
            .await
    }
}

/// The item is locked first, so that its links are counted and added by one request after another; then the user and the
/// membership are held, which cannot end before the commit.
async fn create_link(
    sql: Sql<'_>,
    link: &NewShareLink,
    event: &AuditEvent,
) -> Result<ShareLink, ScriptError> {
    let (item_id, user_id) = (link.create.item_id, link.create.user_id);
    let item = item::lock(item_id).rule(|team_id| team_id.ok_or_else(|| item_id.missing()));
    let (team_id, ()) = sql.run((item, require_user(user_id))).await?;

    let member = member::hold_role(team_id, user_id).rule(|role| role.ok_or(Error::NotAMember));
    let room = share_link::count(team_id, item_id).rule(|links| match links {
        Some(links) if links >= LINKS_PER_ITEM as i64 => Err(ShareLink::too_many(item_id)),
        _ => Ok(()),
    });
    sql.run((member, room)).await?;

    let event = event.clone().in_team(team_id);
    let insert = share_link::insert(team_id, link);
    let made = share_link::find(team_id, link.id);
    let (_, _, made) = sql.run((insert, audit::insert(&event), made)).await?;
    Ok(made.ok_or_else(|| Error::internal("a link that was just made is not there"))?)
}

/// A link's password, if its length is allowed.
fn link_password(password: Secret) -> Result<Secret, Error> {
    match password.reveal().len() {
        0 => Err(Error::Refused(
            "the password is empty; give it at least one character".into(),
        )),
        1..=PASSWORD_LENGTH => Ok(password),
        _ => Err(Error::Refused(format!(
            "the password is longer than {PASSWORD_LENGTH} bytes; shorten it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_password_and_an_endless_one_are_refused() {
        for (wrong, why) in [
            (String::new(), "is empty"),
            ("x".repeat(PASSWORD_LENGTH + 1), "is longer than"),
        ] {
            let refused = link_password(Secret::from_text(wrong)).unwrap_err();
            assert!(refused.to_string().contains(why), "{refused}");
        }
    }
}

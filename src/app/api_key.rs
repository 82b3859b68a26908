//! API keys: how they are created, rotated, revoked, and looked up for a request ([`crate::domain::api_key`]).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::App;
use super::Presented;
use super::lease;
use super::member::{require_manager, require_role};
use super::membership::lock_team;
use super::team::require_team;
use crate::domain::Error;
use crate::domain::api_key::{
    ApiKey, ApiKeyPlace, EXPIRED_FOR, KEYS_PER_TEAM, ListedApiKey, RotatedApiKey, Scope,
    ShownApiKey, is_well_formed, new_key,
};
use crate::domain::audit::{Action, Actor, AuditEvent};
use crate::domain::catalog::Mode;
use crate::domain::holder::Holder;
use crate::domain::id::{ApiKeyId, TeamId, UserId};
use crate::domain::input::end_of;
use crate::domain::input::typed_text;
use crate::domain::list::Part;
use crate::domain::member::Role;
use crate::domain::secret::{Digest, Secret};
use crate::domain::time::{Clock, Timestamp};
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, api_key, audit};

impl App {
    /// Creates a key for a team, on behalf of `by`, valid for `expires_in` or until it is revoked. Also returns the key
    /// itself, which is never shown again.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown team, [`Error::Invalid`] for a name that is not plain text, [`Error::Refused`] for
    /// an expiry beyond the end of time; [`Error::NotAMember`] and [`Error::RoleInsufficient`] for a person who is not
    /// allowed to; any store error.
    pub async fn create_api_key(
        &self,
        by: &Actor,
        team_id: TeamId,
        mode: Mode,
        scope: Scope,
        name: Option<&str>,
        expires_in: Option<Duration>,
    ) -> Result<(ApiKey, Secret), Error> {
        let name = name.map(|name| typed_text("name", name)).transpose()?;
        let now = self.now();
        let secret = new_key(mode);
        let key = ApiKey {
            id: self.ids.next(now),
            team_id,
            mode,
            scope,
            name,
            created_at: now,
            created_by: by.user_id(),
            expires_at: expires_in.map(|time| end_of(now, time)).transpose()?,
            revoked_at: None,
            last_used_at: None,
            replaced_by: None,
        };
        let event = self.event(by, Action::CreateApiKey);
        let (actor, digest) = (by.clone(), secret.digest());
        let event = event.in_team(team_id).to(key.id.0);
        let holder = Holder::in_team(by, team_id);
        let added = self.store.write(holder, async move |sql| {
            sql.run(lock_team(team_id)).await?;
            require_manager(sql, &actor, team_id).await?;
            require_room(sql, team_id, now, 0).await?;
            add_api_key(sql, &key, &digest).await?;
            sql.run(audit::insert(&event)).await?;
            Ok(key.clone())
        });
        Ok((added.await?, secret))
    }

    /// Creates a key that replaces another, which works on for `overlap`. Returns when every process knows how long, a
    /// quarter of a second later. Without an overlap, no process accepts the old key any more by then.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown key; [`Error::NotAMember`] and [`Error::RoleInsufficient`] for a person who is not
    /// allowed to; [`Error::Refused`] for a key that has ended or was rotated before, for a team that has as many keys as it
    /// may have, and for an overlap beyond the end of time; any store error.
    pub async fn rotate_api_key(
        &self,
        by: &Actor,
        id: ApiKeyId,
        overlap: Option<Duration>,
    ) -> Result<RotatedApiKey, Error> {
        let rotation = Rotation {
            by: by.clone(),
            id,
            successor: self.new_id(),
            overlap,
            now: self.now(),
            event: self.event(by, Action::RotateApiKey).to(id.0),
        };
        self.require_manager_of(by, id).await?;
        let holder = Holder::ending(by);
        let rotated = self
            .store
            .write(holder, async move |sql| rotation.carry_out(sql).await);
        let rotated = rotated.await?;
        tokio::time::sleep(lease::RUN_OUT).await;
        Ok(rotated)
    }

    /// The keys of a team, or of all teams, oldest first, revoked and expired ones too.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown team; any store error.
    pub async fn list_api_keys(
        &self,
        team_id: Option<TeamId>,
        part: Part<ApiKeyId>,
    ) -> Result<Vec<ShownApiKey>, Error> {
        let calls = async move |sql: Sql<'_>| match team_id {
            Some(id) => {
                let ((), keys) = sql.run((require_team(id), api_key::list(id, part))).await?;
                Ok(keys)
            }
            None => sql.run(api_key::list_all(part)).await,
        };
        self.store.read(Holder::Service, calls).await
    }

    /// The keys of a team, for a person who manages it: first the valid ones, then the others, each newest first, so
    /// that no number of invalid keys hides one that works.
    ///
    /// # Errors
    /// [`Error::NotAMember`] and [`Error::RoleInsufficient`]; any store error.
    pub async fn list_newest_api_keys(
        &self,
        user_id: UserId,
        team_id: TeamId,
        part: Part<ApiKeyPlace>,
    ) -> Result<Vec<ListedApiKey>, Error> {
        let now = self.now();
        let calls = async move |sql: Sql<'_>| {
            let keys = api_key::list_newest(team_id, now, part);
            let (_, keys) = sql
                .run((require_role(team_id, user_id, Role::may_manage), keys))
                .await?;
            Ok(keys)
        };
        self.store.read(user_id, calls).await
    }

    /// The key with this id, revoked or not.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown key; any store error.
    pub async fn get_api_key(&self, id: ApiKeyId) -> Result<ShownApiKey, Error> {
        let calls = async move |sql: Sql<'_>| sql.run(api_key::find_shown(id)).await;
        let found = self.store.read(Holder::Service, calls).await?;
        found.ok_or_else(|| ApiKey::missing(id))
    }

    /// Ends a key for ever, and returns when no process accepts it any more, a quarter of a second later. Revoking it again
    /// changes nothing.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown key; [`Error::NotAMember`] and [`Error::RoleInsufficient`] for a person who is not
    /// allowed to; any store error.
    pub async fn revoke_api_key(&self, by: &Actor, id: ApiKeyId) -> Result<ApiKey, Error> {
        let now = self.now();
        let event = self.event(by, Action::RevokeApiKey).to(id.0);
        self.require_manager_of(by, id).await?;
        let holder = Holder::ending(by);
        let revoke = || {
            let (actor, event) = (by.clone(), event.clone());
            self.store.write(holder, async move |sql| {
                revoke_api_key(sql, &actor, id, now, &event).await
            })
        };
        let revoked = match revoke().await {
            // A replica that freezes while its statement waits keeps the PostgreSQL lock for longer than a change may take:
            // until the statement has ended, and then until the server gives up on it. Revoking twice has the same effect as
            // once.
            Err(Error::Unavailable(_)) => revoke().await,
            done => done,
        };
        let key = revoked?;
        tokio::time::sleep(lease::RUN_OUT).await;
        Ok(key)
    }

    /// Refuses a person who does not manage the team of this key, before they take a lock of that team.
    async fn require_manager_of(&self, by: &Actor, id: ApiKeyId) -> Result<(), Error> {
        let Actor::Person(person) = by else {
            return Ok(());
        };
        let user_id = person.user_id;
        let find = async move |sql: Sql<'_>| {
            let key = sql.run(api_key::find_id(id)).await?;
            let team_id = key.ok_or_else(|| ApiKey::missing(id))?.team_id;
            let role = require_role(team_id, user_id, Role::may_manage);
            sql.run(role).await.map(drop)
        };
        self.store.read(user_id, find).await
    }

    /// The key that a request presented: the form check of step 3.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when it is malformed.
    pub fn presented_api_key(&self, text: &str) -> Result<Presented, Error> {
        match is_well_formed(text) {
            true => Ok(self.presented(text)),
            false => Err(Error::InvalidToken),
        }
    }

    /// The key that was presented: the rest of step 3, and step 5. `from` is the client address, if there is one; it is
    /// called only if the use is noted.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when it is unknown, expired or revoked; any store error.
    pub async fn look_up_api_key(
        &self,
        presented: Presented,
        from: impl FnOnce() -> Option<IpAddr>,
    ) -> Result<ApiKey, Error> {
        let begun = Instant::now();
        let (key, now) = match self.key_leases.get(&presented.digest, begun) {
            Some(key) => {
                let now = self.now();
                key.require_valid(now)?;
                (key, now)
            }
            None => {
                let found = self.find_api_key(presented, begun).await;
                let now = self.now();
                let found = found.and_then(|key| key.require_valid(now).map(|()| key));
                let key = self.looked_up(presented, found, |key| key.team_id.into())?;
                (key, now)
            }
        };
        self.key_uses.note(key.id, now, key.last_used_at, from);
        Ok(key)
    }

    /// Refuses a key that has ended since it was looked up. That is no use of it.
    ///
    /// # Errors
    /// [`Error::InvalidToken`]; any store error.
    pub async fn require_api_key(&self, key: &ApiKey) -> Result<(), Error> {
        let id = key.id;
        let find = async move |sql: Sql<'_>| sql.run(api_key::find_id(id)).await;
        let found = self.store.read(key.team_id, find).await?;
        found.ok_or(Error::InvalidToken)?.require_valid(self.now())
    }

    /// [`presented_api_key`](App::presented_api_key) and [`look_up_api_key`](App::look_up_api_key) in one step, without a
    /// client address.
    ///
    /// # Errors
    /// [`Error::InvalidToken`]; any store error.
    pub async fn authenticate_api_key(&self, text: &str) -> Result<ApiKey, Error> {
        let presented = self.presented_api_key(text)?;
        self.look_up_api_key(presented, || None).await
    }

    /// Finds the key in the store, and starts its lease.
    async fn find_api_key(&self, presented: Presented, begun: Instant) -> Result<ApiKey, Error> {
        let Presented { digest, holder } = presented;
        let find = api_key::find(digest);
        let found = self.store.look_up_credential(holder, find).await?;
        let key = found.ok_or(Error::InvalidToken)?;
        self.key_leases.begin(&digest, key.clone(), begun);
        Ok(key)
    }

    /// Adds a key exactly as given; only the digest of its text is kept.
    pub(crate) async fn add_api_key(&self, key: ApiKey, digest: Digest) -> Result<ApiKey, Error> {
        self.store
            .write(Holder::Service, async move |sql| {
                add_api_key(sql, &key, &digest).await?;
                Ok(key.clone())
            })
            .await
    }
}

/// Refuses a team that has as many keys as it may have, without those that are `about_to_end`.
async fn require_room(
    sql: Sql<'_>,
    team_id: TeamId,
    now: Timestamp,
    about_to_end: i64,
) -> Result<(), ScriptError> {
    let counted = api_key::count_unrevoked(team_id, now.before(EXPIRED_FOR));
    let counted = sql.run(counted).await?;
    match counted.is_some_and(|count| count - about_to_end >= KEYS_PER_TEAM) {
        true => Err(Error::Refused(format!(
            "the team has {KEYS_PER_TEAM} keys that are valid or expired within the last ten minutes, and may have no \
             more; revoke those that nobody uses, or wait"
        ))
        .into()),
        false => Ok(()),
    }
}

/// A key to replace another.
struct Rotation {
    by: Actor,
    id: ApiKeyId,
    successor: ApiKeyId,
    overlap: Option<Duration>,
    now: Timestamp,
    event: AuditEvent,
}

impl Rotation {
    /// The team is locked before the key, as when a member is removed with keys, so no other key is added meanwhile. Any
    /// other rotation or revocation of the same key waits for the key's lock, and finds it as this leaves it.
    async fn carry_out(&self, sql: Sql<'_>) -> Result<RotatedApiKey, ScriptError> {
        let missing = || ApiKey::missing(self.id);
        let rotated =
            |key: ApiKey| key.rotated(self.successor, self.by.user_id(), self.overlap, self.now);
        let key = sql
            .run(api_key::find_id(self.id))
            .await?
            .ok_or_else(missing)?;
        let team_id = key.team_id;
        // What is refused waits for no lock.
        rotated(key)?;
        sql.run(lock_team(team_id)).await?;
        require_manager(sql, &self.by, team_id).await?;
        let key = sql.run(api_key::lock(self.id)).await?.ok_or_else(missing)?;
        let (old, new) = rotated(key)?;
        let secret = new_key(new.mode);
        // Before anything is changed: on SQLite, changes that share a transaction with one that has to be undone are made
        // twice.
        let about_to_end = i64::from(old.revoked_at.is_some());
        require_room(sql, team_id, self.now, about_to_end).await?;
        sql.run(api_key::replace(&old)).await?;
        add_api_key(sql, &new, &secret.digest()).await?;
        let event = self.event.clone().in_team(team_id).with_successor(new.id);
        sql.run(audit::insert(&event)).await?;
        Ok(RotatedApiKey { old, new, secret })
    }
}

async fn add_api_key(sql: Sql<'_>, key: &ApiKey, digest: &Digest) -> Result<(), ScriptError> {
    let insert = api_key::insert(key, digest);
    sql.run((require_team(key.team_id), insert)).await.map(drop)
}

/// Requires the right to revoke in the key's team, before the key is locked, as wherever both are (`membership`). A key that
/// was revoked before gets no second event.
async fn revoke_api_key(
    sql: Sql<'_>,
    by: &Actor,
    id: ApiKeyId,
    now: Timestamp,
    event: &AuditEvent,
) -> Result<ApiKey, ScriptError> {
    let missing = || ApiKey::missing(id);
    let team_id = sql.run(api_key::find_id(id)).await?;
    let team_id = team_id.ok_or_else(missing)?.team_id;
    require_manager(sql, by, team_id).await?;
    let key = sql.run(api_key::lock(id)).await?.ok_or_else(missing)?;
    if key.revoked_at.is_some() {
        sql.run(api_key::rely_on(key.team_id, id)).await?;
        return Ok(key);
    }
    let event = event.clone().in_team(key.team_id);
    sql.run((api_key::revoke(id, now), audit::insert(&event)))
        .await?;
    Ok(ApiKey {
        revoked_at: Some(now),
        ..key
    })
}

/// Refuses a key that has ended by the time this is answered, and keeps it from being revoked until the end of the
/// transaction.
pub(super) fn require_valid_key(
    team_id: TeamId,
    id: ApiKeyId,
    clock: Arc<dyn Clock>,
) -> impl Batch<Out = ()> {
    api_key::hold(team_id, id).rule(move |key| {
        let key = key.ok_or(Error::InvalidToken)?;
        key.require_valid(clock.now())
    })
}

//! Creating, withdrawing and accepting invitations ([`crate::domain::invitation`]).
//!
//! 1. Invitations change only under the lock of the team (`membership`), so of two people who accept one, the first spends
//!    it, and for the other it is gone.
//! 2. Only a person who may withdraw an invitation may replace it.
//! 3. Accepting checks in its transaction whether the inviter may still invite with that role, and that right cannot end
//!    before the commit. While the inviter is deactivated, the invitation is not valid.
//! 4. With the link alone, a user is created, with a password, and the browser is signed in. If the email already has a
//!    user, that user confirms while signed in.
//! 5. Locks are taken in this order: that the user may join teams, the team, then the user and the session of the person
//!    who accepts.

use super::App;
use super::browser_session::require_person;
use super::hashing::Caller;
use super::mail::one_more_typed;
use super::member::require_manager;
use super::membership::{lock_team, require_reach};
use super::sign_in::{Browser, Cookies};
use super::team::require_team;
use super::user::require_user;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent, Person};
use crate::domain::holder::Holder;
use crate::domain::id::{InvitationId, TeamId, UserId};
use crate::domain::input::typed_text;
use crate::domain::invitation::{
    FoundInvitation, INVITATIONS_PER_TEAM, Invitation, IssuedInvitation, LIFETIME, ListedInvitation,
};
use crate::domain::letter::{Invited, Occasion};
use crate::domain::member::{Member, Role};
use crate::domain::secret::{Digest, Secret};
use crate::domain::team::Team;
use crate::domain::time::Timestamp;
use crate::domain::user::{User, parse_email};
use crate::domain::ways_to_sign_in::Way;
use crate::mail::require_address;
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, audit, invitation, member, password, team, user};

/// What a person who follows an invitation, and is not a user yet, has typed.
#[derive(Clone, Debug)]
pub struct JoinAsNew {
    /// The secret at the end of the link.
    pub link: Secret,
    /// The user's name.
    pub name: String,
    /// A new password.
    pub password: Secret,
    /// The browser, which is signed in afterwards.
    pub browser: Browser,
}

impl App {
    /// Invites the owner of an email address to a team. An earlier invitation of that address to the same team becomes
    /// invalid.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an email that is invalid, or a member's; [`Error::Missing`] for an unknown team;
    /// [`Error::NotAMember`] and [`Error::RoleInsufficient`] for a person who is not allowed to; any store error.
    pub async fn invite(
        &self,
        by: &Actor,
        team_id: TeamId,
        email: &str,
        role: Role,
    ) -> Result<IssuedInvitation, Error> {
        self.keep_invitation(by, team_id, email, role, false).await
    }

    /// Like [`invite`](App::invite), for a person; also mails the link.
    ///
    /// # Errors
    /// As for [`invite`](App::invite); [`Error::Invalid`], too, when the team has recently invited too many;
    /// [`Error::Unavailable`] when too many letters wait; [`Error::LinkNotValid`] if no mail is sent.
    pub async fn invite_by_mail(
        &self,
        person: Person,
        team_id: TeamId,
        email: &str,
        role: Role,
    ) -> Result<Invitation, Error> {
        let (outbox, letters) = self.mail()?;
        require_address(&parse_email(email)?)?;
        let place = outbox.reserve_for(Some(team_id), Occasion::Invitation)?;
        let user_id = person.user_id;
        let find =
            async move |sql: Sql<'_>| sql.run((user::find(user_id), team::find(team_id))).await;
        let (user, team) = self.store.read(user_id, find).await?;
        let user = user.ok_or(Error::InvalidToken)?;
        let team = team.ok_or_else(|| Team::missing(team_id))?;
        let actor = Actor::Person(person);
        let issued = self.keep_invitation(&actor, team_id, email, role, true);
        let issued = issued.await?;
        let invited = Invited {
            email: &issued.invitation.email,
            by: &user.name,
            team: &team.name,
            role,
        };
        place.send(letters.invitation(invited, &issued.url(letters.origin)));
        Ok(issued.invitation)
    }

    /// Creates an invitation. Its link is mailed or shown.
    async fn keep_invitation(
        &self,
        by: &Actor,
        team_id: TeamId,
        email: &str,
        role: Role,
        is_mailed: bool,
    ) -> Result<IssuedInvitation, Error> {
        let now = self.now();
        let secret = Secret::base64url();
        let invitation = Invitation {
            id: self.ids.next(now),
            team_id,
            email: parse_email(email)?,
            role,
            invited_by: match by {
                Actor::Operator => None,
                Actor::Person(person) => Some(person.user_id),
            },
            created_at: now,
            expires_at: now.after(LIFETIME),
        };
        let event = self.event(by, Action::Invite).in_team(team_id);
        let event = event.to(invitation.id.0).with_role(role);
        let (actor, digest) = (by.clone(), secret.digest());
        let holder = Holder::in_team(by, team_id);
        let invited = self.store.write(holder, async move |sql| {
            sql.run(lock_team(team_id)).await?;
            let own = require_manager(sql, &actor, team_id).await?;
            require_reach(own, role)?;
            let (open, earlier) = sql
                .run((
                    invitation::count(team_id),
                    invitation::find_email(team_id, &invitation.email),
                ))
                .await?;
            // An earlier one of this email is replaced.
            let others = open.unwrap_or_default() - i64::from(earlier.is_some());
            if others >= INVITATIONS_PER_TEAM {
                let why = "is one too many: the team has 200 open invitations; withdraw some, or wait until they are over";
                return Err(Error::invalid("email", why).into());
            }
            let to = (Some(team_id), &*invitation.email);
            let counted =
                is_mailed.then(|| one_more_typed(team_id, to, Occasion::Invitation, now));
            replace(sql, own, &invitation, &digest, counted).await?;
            sql.run(audit::insert(&event)).await?;
            Ok(invitation.clone())
        });
        Ok(IssuedInvitation {
            invitation: invited.await?,
            secret,
        })
    }

    /// The valid invitations to a team, oldest first.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown team; any store error.
    pub async fn list_invitations(&self, team_id: TeamId) -> Result<Vec<ListedInvitation>, Error> {
        let list = async move |sql: Sql<'_>| {
            let (_, found) = sql
                .run((require_team(team_id), invitation::list(team_id)))
                .await?;
            Ok(found)
        };
        let mut found = self.store.read(team_id, list).await?;
        let now = self.now();
        found.retain(|it| {
            now < it.invitation.expires_at && it.invitation.is_in_force(it.inviter_role)
        });
        Ok(found)
    }

    /// Withdraws an invitation.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`] when there is none; [`Error::NotAMember`] and [`Error::RoleInsufficient`] for a person who is
    /// not allowed to; any store error.
    pub async fn uninvite(
        &self,
        by: &Actor,
        team_id: TeamId,
        id: InvitationId,
    ) -> Result<(), Error> {
        let event = self.event(by, Action::Uninvite).in_team(team_id).to(id.0);
        let actor = by.clone();
        self.store
            .write(Holder::ending(by), async move |sql| {
                sql.run(lock_team(team_id)).await?;
                let own = require_manager(sql, &actor, team_id).await?;
                let found = sql.run(invitation::find_id(team_id, id)).await?;
                require_reach(own, found.ok_or(Error::LinkNotValid)?.role)?;
                let delete = invitation::delete(team_id, id);
                sql.run((delete, audit::insert(&event))).await.map(drop)
            })
            .await
    }

    /// The invitation that a link leads to.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`]; any store error.
    pub async fn get_invitation(&self, link: &Secret) -> Result<FoundInvitation, Error> {
        let (digest, now) = (link.digest(), self.now());
        let find = invitation::find(digest, now);
        let found = self.store.look_up_sign_in(Holder::Links, find, 1).await?;
        let invitation = found.ok_or(Error::LinkNotValid)?;
        let inviter = invitation.invited_by;
        let find = (
            inviter.map(|maker| role_of_active(invitation.team_id, maker)),
            team::find(invitation.team_id),
            user::find_email(invitation.email.clone()),
            // Once more, behind the team: what it is called after the end of the invitation is not for whoever has the link.
            invitation::find(digest, now),
        );
        let found = self.store.look_up_sign_in(Holder::Links, find, 5);
        let (inviter, team, user, still) = found.await?;
        match (
            still.is_some() && invitation.is_in_force(inviter.flatten()),
            team,
        ) {
            (true, Some(team)) => Ok(FoundInvitation {
                team_name: team.name,
                has_user: user.is_some(),
                invitation,
            }),
            _ => Err(Error::LinkNotValid),
        }
    }

    /// Creates a user through an invitation, and signs the browser in: step 4.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`], also when a user already has the email; [`Error::Invalid`] about a field; [`Error::Refused`]
    /// when too many have joined the team; any store error.
    pub async fn join_as_new(&self, join: JoinAsNew) -> Result<(TeamId, Cookies), Error> {
        self.require_passwords()?;
        // Without a valid link, no password is judged or hashed.
        let found = self.get_invitation(&join.link).await;
        let found = self.counts.link.refusing(found)?;
        if found.has_user {
            return Err(Error::LinkNotValid);
        }
        let caller = Caller::invited(&found.invitation, join.browser.visitor.address);
        let (now, team_id) = (self.now(), found.invitation.team_id);
        let made = User {
            id: self.ids.next(now),
            email: found.invitation.email,
            name: typed_text("name", &join.name)?,
            created_at: now,
            deactivated_at: None,
        };
        let user_id = made.id;
        let hash = self.hash_new_password(caller, Holder::Links, join.password, &made);
        let hash = hash.await?;
        let device = self.device_cookies().await?.issue(user_id, &hash, now);
        let (begin, cookie) = self.new_browser_session(user_id, Way::Password, &join.browser);
        let event = begin.event_of(Action::AcceptInvitation, self.ids.next(now));
        let digest = join.link.digest();
        if !self.joins.take(team_id) {
            return Err(Error::Refused(
                "many people have just joined this team".into(),
            ));
        }
        let made = self
            .store
            .write(team_id, async move |sql| {
                // The team before any user (`membership`, step 1).
                sql.run(team::lock(team_id)).await?;
                // Waits for, or holds up, a concurrent creation of a user with this email.
                if sql.run(user::insert(&made)).await? == 0 {
                    return Err(Error::LinkNotValid.into());
                }
                sql.run(password::set(user_id, &hash, now)).await?;
                accept(sql, &digest, &made, now, &event).await?;
                begin.carry_out(sql).await
            })
            .await;
        made.inspect_err(|_| self.joins.give_back(team_id))?;
        self.counts.link.good.one();
        let cookies = Cookies {
            session: cookie,
            device: Some(device),
        };
        Ok((team_id, cookies))
    }

    /// Makes a signed-in user a member, if the invitation is to them: step 4. An existing member stays as they are.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`], also when another person is invited; [`Error::InvalidToken`] when the person is no longer
    /// signed in; any store error.
    pub async fn join_as_user(&self, person: Person, link: &Secret) -> Result<TeamId, Error> {
        let (digest, now, user_id) = (link.digest(), self.now(), person.user_id);
        let event = self.event(&Actor::Person(person.clone()), Action::AcceptInvitation);
        let event = event.to(user_id.0);
        // Only an invited user may wait for the team's other changes, and hold them up.
        let invitation = self.get_invitation(link).await?.invitation;
        let find = async move |sql: Sql<'_>| sql.run(user::find(user_id)).await;
        let found = self.store.read(user_id, find).await?;
        if !invitation.is_to(&found.ok_or(Error::InvalidToken)?) {
            return Err(Error::LinkNotValid);
        }
        self.store
            .write(invitation.team_id, async move |sql| {
                let team = team::lock(invitation.team_id);
                sql.run((user::share_joins(user_id), team)).await?;
                sql.run((require_person(&person), require_user(user_id)))
                    .await?;
                let found = sql.run(user::find(user_id)).await?;
                let found = found.ok_or(Error::InvalidToken)?;
                accept(sql, &digest, &found, now, &event).await
            })
            .await
    }
}

/// Stores an invitation in place of an earlier one: step 2. Its letter is `counted`, if it has one.
async fn replace(
    sql: Sql<'_>,
    own: Option<Role>,
    invitation: &Invitation,
    digest: &Digest,
    counted: Option<impl Batch<Out = ()>>,
) -> Result<(), ScriptError> {
    let (team_id, email) = (invitation.team_id, &invitation.email);
    let (before, user) = sql
        .run((
            invitation::find_email(team_id, email),
            user::find_email(email),
        ))
        .await?;
    if let Some(user) = user
        && sql.run(member::role(team_id, user.id)).await?.is_some()
    {
        return Err(Error::invalid("email", "is that of a member of the team").into());
    }
    // One that has expired is in no one's way.
    if let Some(before) = &before
        && invitation.created_at < before.expires_at
    {
        // That of an inviter who is deactivated waits for them.
        let inviter = before.invited_by.map(|maker| member::role(team_id, maker));
        if before.is_in_force(sql.run(inviter).await?.flatten()) {
            require_reach(own, before.role)?;
        }
    }
    sql.run(counted).await?;
    let delete = before.map(|it| invitation::delete(team_id, it.id));
    sql.run((delete, invitation::insert(invitation, digest)))
        .await
        .map(drop)
}

/// Spends an invitation for the invited user. The team must be locked, so that the invitation cannot change: step 3.
pub(super) async fn accept(
    sql: Sql<'_>,
    digest: &Digest,
    user: &User,
    now: Timestamp,
    event: &AuditEvent,
) -> Result<TeamId, ScriptError> {
    let found = sql.run(invitation::find(*digest, now)).await?;
    let invitation = found.ok_or(Error::LinkNotValid)?;
    let team_id = invitation.team_id;
    sql.run(require_team(team_id)).await?;
    let inviter = hold_inviter(sql, &invitation).await?;
    if !invitation.is_in_force(inviter) || !invitation.is_to(user) {
        return Err(Error::LinkNotValid.into());
    }
    let member = Member {
        team_id,
        user_id: user.id,
        role: invitation.role,
        created_at: now,
    };
    let (_, added) = sql
        .run((
            invitation::delete(team_id, invitation.id),
            member::insert(&member),
        ))
        .await?;
    if added > 0 {
        let event = event.clone().in_team(team_id).with_role(invitation.role);
        sql.run(audit::insert(&event)).await?;
    }
    Ok(team_id)
}

async fn hold_inviter(sql: Sql<'_>, invitation: &Invitation) -> Result<Option<Role>, ScriptError> {
    // The role is held before checking whether its user is active, since a deactivation waits for it.
    let hold = |maker: UserId| {
        (
            member::hold_role(invitation.team_id, maker),
            user::is_active(maker),
        )
            .rule(of_active)
    };
    Ok(sql.run(invitation.invited_by.map(hold)).await?.flatten())
}

/// A user's role in a team, if they are active.
fn role_of_active(team_id: TeamId, user_id: UserId) -> impl Batch<Out = Option<Role>> {
    (member::role(team_id, user_id), user::is_active(user_id)).rule(of_active)
}

fn of_active((role, is_active): (Option<Role>, bool)) -> Result<Option<Role>, Error> {
    Ok(role.filter(|_| is_active))
}

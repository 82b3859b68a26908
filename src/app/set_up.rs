//! Set-up: the first owner is created in a browser, through a link that the operator has printed (docs/decisions.md, P4 and
//! P5).
//!
//! 1. The link is valid once, for a day, and only as long as there is no user.
//! 2. Its POST creates the user with a password, and a team if there is none, which the user owns. If the operator has
//!    created teams before, the user becomes the owner of all of them. That is one transaction, during which no other user
//!    can be created.
//! 3. A user who has just chosen a password need not type it again: the browser is signed in.

use super::App;
use super::sign_in::{Browser, Cookies};
use crate::domain::Error;
use crate::domain::audit::{Action, Actor};
use crate::domain::holder::Holder;
use crate::domain::id::UserId;
use crate::domain::input::typed_text;
use crate::domain::list::Part;
use crate::domain::one_time_link::{IssuedLink, OneTimeLink, Purpose};
use crate::domain::secret::Secret;
use crate::domain::team::Team;
use crate::domain::user::{User, parse_email};
use crate::domain::ways_to_sign_in::Way;
use crate::sql::ScriptError;
use crate::store::{Sql, audit, invitation, member, one_time_link, password, team, user};

/// What the first owner typed.
#[derive(Clone, Debug)]
pub struct SetUp {
    /// The secret at the end of the link.
    pub link: Secret,
    /// The user's name.
    pub name: String,
    /// The user's email.
    pub email: String,
    /// A new password.
    pub password: Secret,
    /// The team's name, which is ignored if there is a team.
    pub team: String,
    /// The browser, which is signed in afterwards.
    pub browser: Browser,
}

impl App {
    /// Creates the link through which the service is set up; an earlier link becomes invalid.
    ///
    /// # Errors
    /// [`Error::Refused`] once there is a user; [`Error::PasswordsOff`]; any store error.
    pub async fn create_set_up_link(&self) -> Result<IssuedLink, Error> {
        self.require_passwords()?;
        let (link, issued) = self.new_one_time_link(Purpose::SetUp, None);
        let event = self.event(&Actor::Operator, Action::PrintSetUpLink);
        self.store
            .write(Holder::Service, async move |sql| {
                require_nobody(sql).await?;
                sql.run((one_time_link::replace(&link), audit::insert(&event)))
                    .await
                    .map(drop)
            })
            .await?;
        Ok(issued)
    }

    /// Whether a team will be created through the link. Refuses an invalid link.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`]; any store error.
    pub async fn get_set_up_link(&self, link: &Secret) -> Result<bool, Error> {
        let (digest, now) = (link.digest(), self.now());
        let found = one_time_link::find(digest, Purpose::SetUp, now);
        let find = (found, user::list(Part::one()), team::list(Part::one()));
        let found = self.store.look_up_sign_in(Holder::Links, find, 3);
        let (found, users, teams) = found.await?;
        match found.is_some() && users.is_empty() {
            true => Ok(teams.is_empty()),
            false => Err(Error::LinkNotValid),
        }
    }

    /// Creates the first owner, as described [above](self), and signs the browser in.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`]; [`Error::Invalid`] about a field; any store error.
    pub async fn set_up(&self, set_up: SetUp) -> Result<Cookies, Error> {
        self.require_passwords()?;
        // Without a valid link, no password is judged or hashed.
        let found = self.get_set_up_link(&set_up.link).await;
        let makes_team = self.counts.link.refusing(found)?;
        let now = self.now();
        let owner = User {
            id: self.ids.next(now),
            email: parse_email(&set_up.email)?,
            name: typed_text("name", &set_up.name)?,
            created_at: now,
            deactivated_at: None,
        };
        let team = Team {
            id: self.ids.next(now),
            name: match makes_team {
                true => typed_text("team", &set_up.team)?,
                false => String::new(),
            },
            created_at: now,
        };
        let caller = set_up.browser.caller(now);
        let hash = self.hash_new_password(caller, Holder::Links, set_up.password, &owner);
        let hash = hash.await?;
        let device = self.device_cookies().await?.issue(owner.id, &hash, now);
        let (begin, cookie) = self.new_browser_session(owner.id, Way::Password, &set_up.browser);
        let event = begin.event_of(Action::SetUp, self.ids.next(now));
        let digest = set_up.link.digest();
        self.store
            .write(Holder::Links, async move |sql| {
                sql.run(user::lock_all()).await?;
                let spent = one_time_link::spend(&digest, Purpose::SetUp, now);
                let spent = sql.run(spent).await?;
                spent.ok_or(Error::LinkNotValid)?;
                if !sql.run(user::list(Part::one())).await?.is_empty() {
                    return Err(Error::LinkNotValid.into());
                }
                sql.run(user::insert(&owner)).await?;
                sql.run(password::set(owner.id, &hash, now)).await?;
                if sql.run(team::list(Part::one())).await?.is_empty() {
                    if team.name.is_empty() {
                        return Err(Error::invalid("team", "has no name; give it one").into());
                    }
                    sql.run(team::insert(&team)).await?;
                }
                // An invitation of that email would let them into a team that they have left since.
                let invited = invitation::delete_of_member(owner.id, &owner.email);
                sql.run((member::insert_owner_of_all(owner.id, now), invited))
                    .await?;
                sql.run(audit::insert(&event)).await?;
                begin.carry_out(sql).await
            })
            .await?;
        self.counts.link.good.one();
        Ok(Cookies {
            session: cookie,
            device: Some(device),
        })
    }

    /// A new link: one part to store, and one to show.
    pub(super) fn new_one_time_link(
        &self,
        purpose: Purpose,
        user_id: Option<UserId>,
    ) -> (OneTimeLink, IssuedLink) {
        let secret = Secret::base64url();
        let link = OneTimeLink {
            digest: secret.digest(),
            purpose,
            user_id,
            expires_at: self.now().after(purpose.lifetime()),
        };
        let issued = IssuedLink {
            purpose,
            secret,
            expires_at: link.expires_at,
        };
        (link, issued)
    }
}

/// Refuses if there is a user, and keeps any from being created until the end of the transaction.
async fn require_nobody(sql: Sql<'_>) -> Result<(), ScriptError> {
    let (_, users) = sql.run((user::lock_all(), user::list(Part::one()))).await?;
    match users.is_empty() {
        true => Ok(()),
        false => Err(Error::Refused(
            "there is a user already; sign in, or let `invoicing user reset-link` make a link for them"
                .into(),
        )
        .into()),
    }
}

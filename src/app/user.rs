//! Users.

use super::App;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor};
use crate::domain::holder::Holder;
use crate::domain::id::{TeamId, UserId};
use crate::domain::input::typed_text;
use crate::domain::list::Part;
use crate::domain::password::account;
use crate::domain::time::Timestamp;
use crate::domain::user::{NamedUser, User, parse_email};
use crate::sql::ScriptError;
use crate::store::{
    Batch, Sql, audit, auth_code, email_change, identity, mail_count, member, one_time_link,
    passkey, password, product_import, user,
};

impl App {
    /// Creates a user, who is not a member of any team yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid email or name; [`Error::Refused`] for an email that another user has.
    pub async fn create_user(&self, email: &str, name: &str) -> Result<User, Error> {
        let now = self.now();
        let user = User {
            id: self.ids.next(now),
            email: parse_email(email)?,
            name: typed_text("user's name", name)?,
            created_at: now,
            deactivated_at: None,
        };
        self.add_user(user).await
    }

    /// Users, oldest first.
    ///
    /// # Errors
    /// Any store error.
    pub async fn list_users(&self, part: Part<UserId>) -> Result<Vec<User>, Error> {
        self.store
            .read(Holder::Service, async move |sql| {
                sql.run(user::list(part)).await
            })
            .await
    }

    /// The user with this id or email.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none; any store error.
    pub async fn get_user(&self, user: NamedUser) -> Result<User, Error> {
        self.store
            .read(Holder::Service, async move |sql| match &user {
                NamedUser::Id(id) => {
                    let found = sql.run(user::find(*id)).await?;
                    Ok(found.ok_or_else(|| User::missing(id))?)
                }
                NamedUser::Email(email) => {
                    let found = sql.run(user::find_email(email)).await?;
                    Ok(found.ok_or_else(|| User::missing(email))?)
                }
            })
            .await
    }

    /// The oldest team that the user is a member of, which answers for what the user does.
    pub(super) async fn oldest_team(&self, user_id: UserId) -> Result<Option<TeamId>, Error> {
        let find = member::find_oldest_team(user_id);
        self.store.look_up(user_id, find).await
    }

    /// Adds a user exactly as given.
    pub(crate) async fn add_user(&self, user: User) -> Result<User, Error> {
        let event = self.event(&Actor::Operator, Action::CreateUser);
        let event = event.to(user.id.0);
        self.store
            .write(Holder::Service, async move |sql| {
                if sql.run(user::insert(&user)).await? == 0 {
                    let owner = sql.run(user::find_email(&user.email)).await?;
                    return Err(User::email_taken(&user.email, owner.as_ref()).into());
                }
                sql.run(audit::insert(&event)).await?;
                Ok(user.clone())
            })
            .await
    }
}

/// The user is removed first: whatever others, who hold the user, are about to add is added before this, or refused after
/// it. Nothing of the user's own is left that has the email or tells what they typed. Sessions let nobody in from then on;
/// these, and whatever else there may be much of, are deleted later (`emptying`). Returns the user as they were.
pub(super) async fn remove_user(
    sql: Sql<'_>,
    id: UserId,
    now: Timestamp,
) -> Result<User, ScriptError> {
    // So that the email cannot change meanwhile, and no code is added. Whoever exchanges one has it locked and keeps the user,
    // so the codes come before the lock that waits for those who do.
    let lock = (user::lock(id), auth_code::delete_unused(id));
    let lock = (lock, user::lock_to_remove(id));
    let (_, user) = sql.run((lock, user::find(id))).await?;
    let user = user.ok_or_else(|| User::missing(id))?;
    sql.run((user::remove(id, now), member::delete_all(id)))
        .await?;
    let ways_in = (
        password::delete(id),
        passkey::delete_all(id),
        identity::delete_all(id),
        one_time_link::delete_all(id),
        // It must not be valid again once the only user is removed.
        one_time_link::delete_set_up(),
    );
    let mail = (email_change::delete(id), mail_count::delete_all(id));
    let account = account(&user.email);
    let counted = (mail, password::forget_all_wrong(&account));
    sql.run((ways_in, counted, product_import::delete_all(id)))
        .await?;
    Ok(user)
}

/// Refuses an id that no user has, or a removed one. For reads: it locks nothing.
pub(super) fn require_user_exists(id: UserId) -> impl Batch<Out = ()> {
    user::find(id).rule(move |found| found.map(drop).ok_or_else(|| User::missing(id)))
}

/// Refuses an id that no user has, or a removed one, and keeps the user from being removed until the end of the
/// transaction.
pub(super) fn require_user(id: UserId) -> impl Batch<Out = ()> {
    user::hold(id).rule(move |exists| match exists {
        true => Ok(()),
        false => Err(User::missing(id)),
    })
}

//! `invoicing user`: the people behind mobile sessions.

use crate::app::App;
use crate::domain::Error;
use crate::domain::audit::Actor;
use crate::domain::id::UserId;
use crate::domain::member::Role;
use crate::domain::team::{NamedTeam, Team};
use crate::domain::user::{self, NamedUser};

use super::command_error::CommandError;
use super::one_time_link;
use super::output::Output;
use super::part::PartOf;
use super::record::{Record, plain_text};
use super::word::one_of;

/// Users: the people who sign in with the mobile app.
#[derive(Debug, clap::Subcommand)]
pub(super) enum User {
    /// Reactivates a deactivated user.
    ///
    /// Memberships, keys and ways to sign in are as before, but the user has to sign in again.
    #[command(after_help = r#"Example:
    invoicing user activate ada@example.com"#)]
    Activate {
        /// The user, by email or id.
        user: NamedUser,
    },
    /// Creates a user, who is not a member of any team yet.
    #[command(after_help = r#"Example:
    invoicing user create --email ada@example.com --name "Ada Lovelace"
    invoicing member add --team Acme --user ada@example.com --role owner"#)]
    Create {
        /// The user's email address; must be unique.
        #[arg(long)]
        email: String,
        /// The user's name.
        #[arg(long)]
        name: String,
    },
    /// Signs a user out everywhere and keeps them from signing in until activated.
    ///
    /// This ends all their sessions, in browsers and apps, from the next request on. Unused codes and links stop working,
    /// too. Memberships stay, and so do the API keys and share links that the user created: `invoicing member remove
    /// --revoke-keys` revokes the keys.
    #[command(after_help = r#"Example:
    invoicing user deactivate ada@example.com"#)]
    Deactivate {
        /// The user, by email or id.
        user: NamedUser,
    },
    /// Deletes a user: erases email, name, ways to sign in and sessions, at once.
    ///
    /// What the user did stays in the audit log, under the id alone. Keys and links that the user created stay as well: to
    /// revoke the keys, run `invoicing member remove --revoke-keys` first. This cannot be undone.
    Delete {
        /// The user, by email or id.
        user: NamedUser,
    },
    /// Prints everything that is stored about a user, as JSON.
    ///
    /// No password, key or other secret is included.
    #[command(after_help = r#"Example:
    invoicing user export ada@example.com > ada.json"#)]
    Export {
        /// The user, by email or id.
        user: NamedUser,
    },
    /// Prints a link that invites a person to a team.
    ///
    /// The link works once, within 7 days, and replaces any earlier one for the same email and team. A person without an
    /// account creates one with it, with a password; a user who already has this email signs in and confirms.
    #[command(after_help = r#"Example:
    invoicing user invite --team Acme --email ada@example.com --role admin"#)]
    Invite {
        /// The team, by its id or its name.
        #[arg(long, value_name = "TEAM")]
        team: NamedTeam,
        /// The email address to invite.
        #[arg(long)]
        email: String,
        /// The role that they will have in the team.
        #[arg(long, value_parser = one_of(Role::ALL))]
        role: Role,
    },
    /// Lists the users, oldest first.
    List {
        #[command(flatten)]
        part: PartOf<UserId>,
    },
    /// Prints a link for a user to set a new password.
    ///
    /// The link works once, within an hour, and replaces any earlier one. Anyone who has it can sign in as this user. Using
    /// it signs the user out everywhere else, apps included.
    ResetLink {
        /// The user, by email or id.
        user: NamedUser,
    },
    /// Changes a user's email address.
    ///
    /// The user signs in with the new address from then on. This takes effect at once, and no one is notified. Links for
    /// setting a new password that were created before stop working.
    #[command(after_help = r#"Example:
    invoicing user set-email ada@example.com --email ada@example.org"#)]
    SetEmail {
        /// The user, by email or id.
        user: NamedUser,
        /// The new email address; must be unique.
        #[arg(long)]
        email: String,
    },
    /// Shows a user.
    Show {
        /// The user, by email or id.
        user: NamedUser,
    },
}

impl User {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Activate { user } => {
                let user = app.get_user(user).await?;
                Ok(record(app.activate_user(user.id).await?).into())
            }
            Self::Create { email, name } => {
                Ok(record(app.create_user(&email, &name).await?).into())
            }
            Self::Deactivate { user } => {
                let user = app.get_user(user).await?;
                let (user, teams) = app.deactivate_user(user.id).await?;
                Ok(deactivated(user, &teams))
            }
            Self::Delete { user } => {
                let user = app.get_user(user).await?;
                app.delete_user(user.id).await?;
                Ok(record(user).into())
            }
            Self::Export { user } => {
                let user = app.get_user(user).await?;
                let text = app.export_user_for_operator(user.id).await?;
                let document = serde_json::from_str(&text).map_err(Error::internal)?;
                Ok(Output::document(document))
            }
            Self::Invite { team, email, role } => {
                let origin = one_time_link::origin(app)?;
                let team = app.get_team(team).await?.id;
                let issued = app.invite(&Actor::Operator, team, &email, role).await?;
                Ok(one_time_link::invitation(&issued, origin).into())
            }
            Self::List { part } => {
                let users = app.list_users(part.part()).await?;
                Ok(part.list(users.into_iter().map(record).collect(), "id"))
            }
            Self::ResetLink { user } => {
                let origin = one_time_link::origin(app)?;
                let user = app.get_user(user).await?;
                let issued = app.create_reset_link(user.id).await?;
                Ok(one_time_link::record(&issued, origin).into())
            }
            Self::SetEmail { user, email } => {
                let user = app.get_user(user).await?;
                Ok(record(app.set_email(user.id, &email).await?).into())
            }
            Self::Show { user } => Ok(record(app.get_user(user).await?).into()),
        }
    }
}

fn record(user: user::User) -> Record {
    Record::default()
        .with_text("id", user.id)
        .with_text("email", user.email)
        .with_text("name", user.name)
        .with_time("createdAt", user.created_at)
        .with_distant_time("deactivatedAt", user.deactivated_at)
}

/// The user, with a note on the teams that no active user owns any more.
fn deactivated(user: user::User, teams: &[Team]) -> Output {
    let output = Output::from(record(user));
    if teams.is_empty() {
        return output;
    }
    let teams: Vec<String> = teams
        .iter()
        .map(|team| format!("{} ({})", plain_text(&team.name), team.id))
        .collect();
    output.with_note(format!(
        "no owner who is active is left in {}; `invoicing member set-role` makes somebody else one",
        teams.join(", ")
    ))
}

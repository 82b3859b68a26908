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
    /// Gives a deactivated user the account back: memberships, keys and ways to sign in are as before. They sign in anew.
    #[command(after_help = r#"Example:
    invoicing user activate ada@example.com"#)]
    Activate {
        /// The user, by email or id.
        user: NamedUser,
    },
    /// Makes a user, who is a member of no team yet.
    #[command(after_help = r#"Example:
    invoicing user create --email ada@example.com --name "Ada Lovelace"
    invoicing member add --team Acme --user ada@example.com --role owner"#)]
    Create {
        /// The email address; no two users have the same.
        #[arg(long)]
        email: String,
        /// What people call the user.
        #[arg(long)]
        name: String,
    },
    /// Keeps a user from signing in, and ends all their sessions, in browsers and apps, until they are activated.
    ///
    /// It counts from the next request on. Codes and links that were not used yet end, too. Memberships stay, and so do the API
    /// keys and share links that the user made: `invoicing member remove --revoke-keys` revokes the keys.
    #[command(after_help = r#"Example:
    invoicing user deactivate ada@example.com"#)]
    Deactivate {
        /// The user, by email or id.
        user: NamedUser,
    },
    /// Deletes a user: email, name, ways to sign in and sessions are gone at once.
    ///
    /// What the user did stays in the audit, under the id alone. Keys and links that the user made stay as well:
    /// `invoicing member remove --revoke-keys` before it revokes the keys. This cannot be undone.
    Delete {
        /// The user, by email or id.
        user: NamedUser,
    },
    /// Prints all that is stored about a user, as JSON. No password, key or other secret is in it.
    #[command(after_help = r#"Example:
    invoicing user export ada@example.com > ada.json"#)]
    Export {
        /// The user, by email or id.
        user: NamedUser,
    },
    /// Prints a link by which somebody becomes a member of a team.
    ///
    /// It is good once, for 7 days; one that was printed before for the same email and team is worth nothing then. Whoever
    /// has no account makes one by it, with a password; a user who has this email signs in and confirms.
    #[command(after_help = r#"Example:
    invoicing user invite --team Acme --email ada@example.com --role admin"#)]
    Invite {
        /// The team, by its id or its name.
        #[arg(long, value_name = "TEAM")]
        team: NamedTeam,
        /// The email address of whoever is invited.
        #[arg(long)]
        email: String,
        /// What they will be in the team.
        #[arg(long, value_parser = one_of(Role::ALL))]
        role: Role,
    },
    /// Lists the users, oldest first.
    List {
        #[command(flatten)]
        part: PartOf<UserId>,
    },
    /// Prints a link by which a user sets a password anew.
    ///
    /// It is good once, for an hour; one that was printed before is worth nothing then. Whoever has it can sign in as
    /// this user. Once it is used, the user is signed out everywhere else, in apps too.
    ResetLink {
        /// The user, by email or id.
        user: NamedUser,
    },
    /// Gives a user another email, with which they sign in from then on.
    ///
    /// It counts at once, and nobody is told. Links to set a password anew that were made before are worth nothing then.
    #[command(after_help = r#"Example:
    invoicing user set-email ada@example.com --email ada@example.org"#)]
    SetEmail {
        /// The user, by email or id.
        user: NamedUser,
        /// The new email address; no two users have the same.
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

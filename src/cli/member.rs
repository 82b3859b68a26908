//! `invoicing member`: which users belong to which teams.

use crate::app::App;
use crate::domain::Error;
use crate::domain::audit::Actor;
use crate::domain::id::{TeamId, UserId};
use crate::domain::list::Part;
use crate::domain::member::{ListedMember, Role};
use crate::domain::team::NamedTeam;
use crate::domain::user::NamedUser;

use super::command_error::CommandError;
use super::output::Output;
use super::part::PartOf;
use super::record::Record;
use super::word::one_of;

/// Members: users who may work in a team.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Member {
    /// Adds a user to a team.
    #[command(after_help = r#"Example:
    invoicing member add --team Acme --user ada@example.com --role owner"#)]
    Add {
        #[command(flatten)]
        who: Who,
        /// The user's role in the team.
        #[arg(long, value_parser = one_of(Role::ALL))]
        role: Role,
    },
    /// Changes a member's role, at once.
    ///
    /// Even the last owner of a team can be given another role.
    #[command(after_help = r#"Example:
    invoicing member set-role --team Acme --user ada@example.com --role admin"#)]
    SetRole {
        #[command(flatten)]
        who: Who,
        /// The user's new role in the team.
        #[arg(long, value_parser = one_of(Role::ALL))]
        role: Role,
    },
    /// Removes a user from a team, at once.
    ///
    /// The next request from the user's devices for this team gets 403.
    Remove {
        #[command(flatten)]
        who: Who,
        /// Also revoke the API keys that the user created for the team.
        #[arg(long)]
        revoke_keys: bool,
    },
    /// Lists a team's members or a user's teams, the oldest user or team first.
    List {
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        part: PartOf<UserId>,
    },
    /// Shows a user's membership in a team.
    Show {
        #[command(flatten)]
        who: Who,
    },
}

/// A user and a team.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Who {
    /// The team, by its id or its name.
    #[arg(long, value_name = "TEAM")]
    team: NamedTeam,
    /// The user, by email or id.
    #[arg(long, value_name = "USER")]
    user: NamedUser,
}

/// Whose members, or whose teams.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Of {
    /// The team, by its id or its name.
    #[arg(long, value_name = "TEAM")]
    team: Option<NamedTeam>,
    /// The user, by email or id; `--after` then takes a team id.
    #[arg(long, value_name = "USER")]
    user: Option<NamedUser>,
}

impl Member {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Add { who, role } => {
                let (team, user) = who.find(app).await?;
                let member = app.add_member(team, user, role).await?;
                let record = record(team, user).with_text("role", member.role);
                Ok(record.with_time("createdAt", member.created_at).into())
            }
            Self::SetRole { who, role } => {
                let (team, user) = who.find(app).await?;
                app.set_role(&Actor::Operator, team, user, role).await?;
                Ok(listed(app.get_member(team, user).await?).into())
            }
            Self::Remove { who, revoke_keys } => {
                let (team, user) = who.find(app).await?;
                app.remove_member(&Actor::Operator, team, user, revoke_keys)
                    .await?;
                Ok(record(team, user).into())
            }
            Self::List { of, part } => list(app, of, &part).await,
            Self::Show { who } => {
                let (team, user) = who.find(app).await?;
                Ok(listed(app.get_member(team, user).await?).into())
            }
        }
    }
}

impl Who {
    async fn find(self, app: &App) -> Result<(TeamId, UserId), Error> {
        let team = app.get_team(self.team).await?;
        Ok((team.id, app.get_user(self.user).await?.id))
    }
}

async fn list(app: &App, of: Of, part: &PartOf<UserId>) -> Result<Output, CommandError> {
    if let Some(team) = of.team {
        let team = app.get_team(team).await?.id;
        let members = app.list_members(team, part.part()).await?;
        let named = ["id", "teamId", "teamName"];
        let records = members.into_iter().map(listed);
        let records = records.map(|record| record.without_columns(&named));
        return Ok(part.list(records.collect(), "userId"));
    }
    let Some(user) = of.user else {
        return Err(CommandError::Usage("give either --team or --user".into()));
    };
    let user = app.get_user(user).await?.id;
    let Part { after, limit } = part.part();
    let after = after.map(|id| TeamId(id.0));
    let members = app.list_memberships(user, Part { after, limit }).await?;
    let named = ["id", "userId", "email", "name"];
    let records = members.into_iter().map(listed);
    let records = records.map(|record| record.without_columns(&named));
    Ok(part.list(records.collect(), "teamId"))
}

/// A member is identified within its team by its user's id.
fn record(team: TeamId, user: UserId) -> Record {
    Record::default()
        .with_text("id", user)
        .with_text("teamId", team)
        .with_text("userId", user)
}

fn listed(listed: ListedMember) -> Record {
    let member = listed.member;
    record(member.team_id, member.user_id)
        .with_text("role", member.role)
        .with_time("createdAt", member.created_at)
        .with_text("teamName", listed.team_name)
        .with_text("email", listed.email)
        .with_text("name", listed.user_name)
}

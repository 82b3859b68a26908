//! `invoicing member`: which users belong to which teams.

use crate::app::App;
use crate::domain::id::{TeamId, UserId};
use crate::domain::member::Role;

use super::command_error::CommandError;
use super::output::{Output, Record};

/// Members: users who may work in a team.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Member {
    /// Makes a user a member of a team.
    ///
    /// To change a role, remove the member and add them again.
    Add {
        #[command(flatten)]
        who: Who,
        /// What the user is in the team.
        #[arg(long, value_name = "owner|admin|member|viewer")]
        role: Role,
    },
    /// Ends a membership, at once: the next request of the user's devices for this team gets 403.
    Remove {
        #[command(flatten)]
        who: Who,
    },
}

/// A user and a team.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Who {
    /// The team.
    #[arg(long, value_name = "ID")]
    team: TeamId,
    /// The user.
    #[arg(long, value_name = "ID")]
    user: UserId,
}

impl Member {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Add { who, role } => {
                let member = app.add_member(who.team, who.user, role).await?;
                let record = who.record().with_text("role", member.role);
                Ok(record.with_text("createdAt", member.created_at).into())
            }
            Self::Remove { who } => {
                app.remove_member(who.team, who.user).await?;
                Ok(who.record().into())
            }
        }
    }
}

impl Who {
    /// A member is known in its team by its user's id.
    fn record(self) -> Record {
        Record::default()
            .with_text("id", self.user)
            .with_text("teamId", self.team)
            .with_text("userId", self.user)
    }
}

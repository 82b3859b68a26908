//! Teams, which own catalogs, keys and files.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use super::Error;
use super::id::TeamId;
use super::time::Timestamp;

/// A team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    /// Identifies it.
    pub id: TeamId,
    /// What people call it; not unique.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Team {
    /// The error for an id or a name that no team has; the command line shows it.
    pub(crate) fn missing(id: impl fmt::Display) -> Error {
        let remedy = "`invoicing team list` shows the teams";
        Error::Missing {
            noun: "team",
            id: id.to_string(),
            remedy,
        }
    }

    /// The error for a deletion that was confirmed with a name other than the team's; the command line shows it.
    pub(crate) fn not_confirmed(team: &Team) -> Error {
        let Team { id, name, .. } = team;
        Error::Refused(format!(
            "the team {id} is called {name:?}: nothing was deleted; to delete it with all its products, keys and links, give \
             this name behind --confirm"
        ))
    }

    /// The error for a name that `teams`, and perhaps others, share; the command line shows it.
    pub(crate) fn ambiguous(name: &str, teams: &[Team]) -> Error {
        let ids: Vec<String> = teams.iter().map(|team| team.id.to_string()).collect();
        Error::Refused(format!(
            "more than one team is called {name:?}: {}; name the one you mean by its id",
            ids.join(", ")
        ))
    }
}

/// How a command names a team: by its id, or by its name if no other team has the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedTeam {
    /// By its id.
    Id(TeamId),
    /// By its exact name.
    Name(String),
}

impl FromStr for NamedTeam {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let id = text.parse().map(NamedTeam::Id);
        Ok(id.unwrap_or_else(|_| NamedTeam::Name(text.trim().to_owned())))
    }
}

impl From<TeamId> for NamedTeam {
    fn from(id: TeamId) -> Self {
        NamedTeam::Id(id)
    }
}

//! Teams: whose catalog, whose keys, whose files.

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
    /// The error for an id that no team has; the command line shows it.
    pub(crate) fn missing(id: TeamId) -> Error {
        let remedy = "`invoicing team list` shows the teams";
        Error::Missing {
            noun: "team",
            id: id.to_string(),
            remedy,
        }
    }
}

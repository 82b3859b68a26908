//! Catalogs: each team has two, one to sell from and one to try things in.

use super::id::TeamId;
use super::string_enum::string_enum;

string_enum! {
    /// Which of a team's two catalogs is worked on; each key has one, and sees nothing of the other.
    Mode {
        /// Real products.
        Live = "live",
        /// Products to try things with.
        Test = "test",
    }
}

/// The products of one team in one mode: what an API key sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Catalog {
    /// The team that keeps it.
    pub team_id: TeamId,
    /// Which of the team's two catalogs.
    pub mode: Mode,
}

//! For whom the service holds something that others would like to have, too: memory, a permit, a connection.

use std::net::IpAddr;

use uuid::Uuid;

use super::audit::Actor;
use super::catalog::Catalog;
use super::id::{TeamId, UserId};

/// For whom something is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// All keys of a team.
    Team(Uuid),
    /// All sessions of a user.
    User(Uuid),
    /// Callers from a network who have no credential.
    Address(IpAddr),
    /// All whose codes and refresh tokens are looked up: who they are is known afterwards.
    Exchanges,
    /// All whose credentials are looked up, and were not found good in the last minutes.
    Strangers,
    /// All who are about to sign in: who they are is known afterwards.
    SignIns,
    /// All who follow a link of a letter.
    Links,
    /// All whose passwords are about to be compared. Each has a place for that meanwhile, so there are a few at most.
    Attempts,
    /// Several whose changes share a transaction.
    Groups,
    /// Several whose lookups are made together.
    Lookups,
    /// Several whose credentials are looked up together.
    Credentials,
    /// The service itself: what runs beside the requests, and commands.
    Service,
}

impl Holder {
    /// How much of `whole` this one may have at once, at least 1. Nobody may have all of it, so that others go on
    /// whatever it does, such as to wait for locks of its own; and strangers, whom nobody counts, may have less. An address
    /// has its share of what [all of them](Holder::share_of_addresses) may have.
    pub fn share(self, whole: usize) -> usize {
        let (whole, quarters) = match self {
            Holder::Strangers => (whole, 1),
            Holder::Address(_) => (Holder::share_of_addresses(whole), 3),
            _ => (whole, 3),
        };
        (whole * quarters / 4).max(1)
    }

    /// How much of `whole` all addresses together may have at once, at least 1: like [`Strangers`](Holder::Strangers), since
    /// whoever has one address may have a thousand.
    pub fn share_of_addresses(whole: usize) -> usize {
        (whole / 4).max(1)
    }

    /// Whether it is somebody whom a credential has proven, or the service itself.
    pub fn is_known(self) -> bool {
        !matches!(self, Holder::Address(_) | Holder::Strangers)
    }

    /// Whether it stands for several who are served together, or is the service itself. Those of whom nobody knows anything are
    /// one, however many they are.
    pub fn is_several(self) -> bool {
        matches!(
            self,
            Holder::Exchanges
                | Holder::Attempts
                | Holder::Groups
                | Holder::Lookups
                | Holder::Credentials
                | Holder::Service
        )
    }

    /// Whether it is an address, of which one person may have many.
    pub fn is_address(self) -> bool {
        matches!(self, Holder::Address(_))
    }
}

impl Holder {
    /// For whom a change to a team is made. It waits for the lock of the team, as all other changes to it do, so it is the team
    /// that holds what is held meanwhile, and not each of those who work on it.
    pub fn in_team(by: &Actor, team_id: TeamId) -> Holder {
        match by {
            Actor::Operator => Holder::Service,
            Actor::Person(_) => team_id.into(),
        }
    }
}

impl From<TeamId> for Holder {
    fn from(id: TeamId) -> Holder {
        Holder::Team(id.0)
    }
}

impl From<UserId> for Holder {
    fn from(id: UserId) -> Holder {
        Holder::User(id.0)
    }
}

impl From<&Actor> for Holder {
    fn from(actor: &Actor) -> Holder {
        match actor {
            Actor::Operator => Holder::Service,
            Actor::Person(person) => person.user_id.into(),
        }
    }
}

impl From<Catalog> for Holder {
    fn from(catalog: Catalog) -> Holder {
        catalog.team_id.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_may_have_all_and_everybody_one() {
        let shares = |holder: Holder| [1, 2, 3, 4, 5, 16, 1024].map(|whole| holder.share(whole));
        let team = Holder::Team(Uuid::nil());
        assert_eq!(shares(team), [1, 1, 2, 3, 3, 12, 768]);
        assert_eq!(shares(Holder::Strangers), [1, 1, 1, 1, 1, 4, 256]);
        let address = Holder::Address([192, 0, 2, 1].into());
        assert_eq!(shares(address), [1, 1, 1, 1, 1, 3, 192]);
    }
}

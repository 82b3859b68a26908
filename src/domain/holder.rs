//! Holders: on whose behalf the service holds something that others want too (memory, a permit, a connection).

use std::net::IpAddr;

use uuid::Uuid;

use super::api_key::ApiKey;
use super::audit::Actor;
use super::browser_session::InBrowser;
use super::catalog::Catalog;
use super::id::{BrowserSessionId, TeamId, UserId};
use super::session::SignedIn;

/// On whose behalf something is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// All keys of a team.
    Team(Uuid),
    /// All sessions of a user.
    User(Uuid),
    /// What a user changes in one browser. Nearly all of that waits for the user's lock, so it needs little, and what is done
    /// in one browser does not keep others waiting.
    Browser(Uuid),
    /// A team's import, which may take seconds once it has its locks.
    Import(Uuid),
    /// What a user does to end a right in a team: of a key, a member, or an invitation. It waits for all that is done by that
    /// right, which therefore must not be in its way.
    Ending(Uuid),
    /// Callers from a network who have no credential.
    Address(IpAddr),
    /// All callers whose codes and refresh tokens are being looked up: only the result tells who they are.
    Exchanges,
    /// All callers whose credentials are being looked up and were not found valid in the last minutes.
    Strangers,
    /// All callers who are about to sign in: who they are is known only afterwards.
    SignIns,
    /// All callers who follow a link from a letter.
    Links,
    /// A user who sets a new password through a link. Others may be signed in as that user, and are not in the way.
    Reset(Uuid),
    /// A person who joins a team through an invitation.
    Invited(Uuid),
    /// All callers whose passwords are about to be compared. Each holds a place for hashing meanwhile, so there are
    /// only a few.
    Attempts,
    /// Several callers whose changes share a transaction.
    Groups,
    /// All callers whose long answers are read part by part, a few at a time.
    Parts,
    /// Several callers whose lookups are made together.
    Lookups,
    /// Several callers whose lists are read together.
    Lists,
    /// Several callers whose credentials are looked up together.
    Credentials,
    /// The service itself: background work, and commands.
    Service,
}

/// A holder, and the credential that it presented: a key of a team, or a session or device cookie of a user. There is none
/// for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bearer {
    /// The team, the user, or the address.
    pub holder: Holder,
    /// The id of the key or session, or one for the device cookie.
    pub credential: Option<Uuid>,
}

impl From<Holder> for Bearer {
    fn from(holder: Holder) -> Bearer {
        Bearer {
            holder,
            credential: None,
        }
    }
}

impl From<&ApiKey> for Bearer {
    fn from(key: &ApiKey) -> Bearer {
        Bearer {
            holder: key.team_id.into(),
            credential: Some(key.id.0),
        }
    }
}

impl From<&SignedIn> for Bearer {
    fn from(signed_in: &SignedIn) -> Bearer {
        Bearer {
            holder: signed_in.user_id.into(),
            credential: Some(signed_in.session_id.0),
        }
    }
}

impl From<&InBrowser> for Bearer {
    fn from(in_browser: &InBrowser) -> Bearer {
        Bearer {
            holder: in_browser.user.id.into(),
            credential: Some(in_browser.session.id.0),
        }
    }
}

impl Holder {
    /// How much of `whole` this holder may have at once, at least 1. No holder may have all of it, so that others make
    /// progress whatever it does, such as wait for locks of its own. Strangers, who are not counted one by one, browsers,
    /// imports and what ends rights may have less. An address gets its share of what [all of them](Holder::share_of_addresses) may have.
    pub fn share(self, whole: usize) -> usize {
        let (whole, quarters) = match self {
            Holder::Strangers | Holder::Browser(_) | Holder::Import(_) | Holder::Ending(_) => {
                (whole, 1)
            }
            Holder::Address(_) => (Holder::share_of_addresses(whole), 3),
            _ => (whole, 3),
        };
        (whole * quarters / 4).max(1)
    }

    /// How much of `whole` all addresses together may have at once, at least 1: as much as
    /// [`Strangers`](Holder::Strangers), since a caller who has one address may have a thousand.
    pub fn share_of_addresses(whole: usize) -> usize {
        (whole / 4).max(1)
    }

    /// Whether a credential has proven who it is, or it is the service itself.
    pub fn is_known(self) -> bool {
        !matches!(self, Holder::Address(_) | Holder::Strangers)
    }

    /// Whether it stands for several callers who are served together, or is the service itself. Callers about whom
    /// nothing is known count as one, however many they are.
    pub fn is_several(self) -> bool {
        matches!(
            self,
            Holder::Exchanges
                | Holder::Attempts
                | Holder::Parts
                | Holder::Groups
                | Holder::Lookups
                | Holder::Lists
                | Holder::Credentials
                | Holder::Service
        )
    }

    /// Whether it stands for many callers, about whom something is known or not.
    pub fn is_many(self) -> bool {
        self.is_several() || matches!(self, Holder::Strangers | Holder::SignIns | Holder::Links)
    }

    /// Whether it is an address; one person may have many of them.
    pub fn is_address(self) -> bool {
        matches!(self, Holder::Address(_))
    }
}

impl Holder {
    /// The holder for a change to a team that ends no right. The change waits for the team's lock, as all other changes to
    /// that team do, so what it holds meanwhile is held by the team, and not by each user who works on it.
    pub fn in_team(by: &Actor, team_id: TeamId) -> Holder {
        match by {
            Actor::Operator => Holder::Service,
            Actor::Person(_) => team_id.into(),
        }
    }

    /// The holder for what ends a right in a team. Not the team, nor anything that whoever has the right may keep busy.
    pub fn ending(by: &Actor) -> Holder {
        match by {
            Actor::Operator => Holder::Service,
            Actor::Person(person) => Holder::Ending(person.user_id.0),
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
            Actor::Person(person) => person.session_id.into(),
        }
    }
}

impl From<BrowserSessionId> for Holder {
    fn from(id: BrowserSessionId) -> Holder {
        Holder::Browser(id.0)
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
        for of_few in [
            Holder::Strangers,
            Holder::Browser(Uuid::nil()),
            Holder::Import(Uuid::nil()),
            Holder::Ending(Uuid::nil()),
        ] {
            assert_eq!(shares(of_few), [1, 1, 1, 1, 1, 4, 256]);
        }
        let address = Holder::Address([192, 0, 2, 1].into());
        assert_eq!(shares(address), [1, 1, 1, 1, 1, 3, 192]);
    }
}

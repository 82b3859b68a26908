//! Who needs a password hashed.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use uuid::Uuid;

use crate::client_address::{network, surroundings};
use crate::domain::browser_session::InBrowser;
use crate::domain::device_cookie::Device;
use crate::domain::holder::{Bearer, Holder};
use crate::domain::id::{TeamId, UserId};
use crate::domain::invitation::Invitation;
use crate::domain::time::Timestamp;

/// How far in the future a device cookie may be from: clocks differ. One of an earlier release has random bytes in place of the
/// time, which nearly always are later than that.
const AHEAD: Duration = Duration::from_hours(24);

/// A caller who needs a password hashed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(super) bearer: Bearer,
    /// The age of the credential.
    pub(super) age: Duration,
    /// From where it comes; `None` for a command.
    pub(super) site: Option<IpNet>,
    /// The team that answers for a known user, or has made the invitation.
    pub(super) team: Option<TeamId>,
}

impl Caller {
    /// A browser at that address: the user who is signed in, or a stranger.
    pub(crate) fn in_browser(
        session: Option<&InBrowser>,
        address: IpAddr,
        now: Timestamp,
    ) -> Caller {
        let stranger = || Holder::Address(network(address)).into();
        let age = session.map(|it| now.since(it.session.created_at));
        Caller {
            bearer: session.map_or_else(stranger, Bearer::from),
            age: age.unwrap_or(Duration::MAX),
            site: Some(surroundings(address)),
            team: None,
        }
    }

    /// A user in a browser that is known, but not signed in.
    pub(crate) fn at_home(
        user_id: UserId,
        device: Device,
        address: IpAddr,
        now: Timestamp,
    ) -> Caller {
        // All cookies that one browser gets after each other have the same time.
        let since = device.since.as_millis().unsigned_abs();
        let bearer = Bearer {
            holder: user_id.into(),
            credential: Some(Uuid::from_u128(since.into())),
        };
        let is_without_time = device.since.before(AHEAD) > now;
        let age = match is_without_time {
            true => Duration::MAX,
            false => now.since(device.since),
        };
        Caller {
            bearer,
            age,
            site: Some(surroundings(address)),
            team: None,
        }
    }

    /// A user who follows a link to set a new password.
    pub(crate) fn with_link(user_id: UserId, address: IpAddr) -> Caller {
        Caller {
            site: Some(surroundings(address)),
            ..Caller::from(Holder::Reset(user_id.0))
        }
    }

    /// A person who joins a team through this invitation.
    pub(crate) fn invited(invitation: &Invitation, address: IpAddr) -> Caller {
        Caller {
            site: Some(surroundings(address)),
            team: Some(invitation.team_id),
            ..Caller::from(Holder::Invited(invitation.id.0))
        }
    }

    /// The user, if the caller is a known one.
    pub(crate) fn user_id(&self) -> Option<UserId> {
        match self.bearer.holder {
            Holder::User(id) | Holder::Reset(id) => Some(UserId(id)),
            _ => None,
        }
    }

    /// With the team that answers for the user, if any.
    pub(crate) fn of_team(self, team: Option<TeamId>) -> Caller {
        Caller { team, ..self }
    }
}

/// Without a credential that has an age.
impl From<Holder> for Caller {
    fn from(holder: Holder) -> Caller {
        Caller {
            bearer: holder.into(),
            age: Duration::MAX,
            site: None,
            team: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::password::Source;
    use crate::domain::secret::Digest;

    #[test]
    fn a_cookie_is_as_old_as_it_says_or_of_an_earlier_release() {
        let now = Timestamp::from_millis(5_000);
        let ahead = 5_000 + AHEAD.as_millis() as i64;
        for (since, age) in [
            (2_000, Duration::from_secs(3)),
            (5_000, Duration::ZERO),
            (5_001, Duration::ZERO),
            (ahead, Duration::ZERO),
            (ahead + 1, Duration::MAX),
        ] {
            let device = Device {
                source: *Source::ALL,
                since: Timestamp::from_millis(since),
            };
            let caller = Caller::at_home(UserId(Uuid::nil()), device, [192, 0, 2, 1].into(), now);
            assert_eq!(caller.age, age, "{since}");
        }
    }

    #[test]
    fn the_cookies_of_one_browser_are_one_credential() {
        let bearer = |byte: &[u8], since| {
            let device = Device {
                source: Source(Digest::of(byte)),
                since: Timestamp::from_millis(since),
            };
            let now = Timestamp::from_millis(5_000);
            Caller::at_home(UserId(Uuid::nil()), device, [192, 0, 2, 1].into(), now).bearer
        };
        assert_eq!(bearer(b"first", 1), bearer(b"next", 1));
        assert_ne!(bearer(b"first", 1), bearer(b"first", 2));
    }
}

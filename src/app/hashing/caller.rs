//! Who needs a password hashed.

use std::time::Duration;

use crate::domain::browser_session::InBrowser;
use crate::domain::device_cookie::Device;
use crate::domain::holder::{Bearer, Holder};
use crate::domain::id::UserId;
use crate::domain::time::Timestamp;

/// A caller who needs a password hashed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(super) bearer: Bearer,
    /// The age of the credential.
    pub(super) age: Duration,
}

impl Caller {
    /// A user who is signed in.
    pub(crate) fn in_session(in_browser: &InBrowser, now: Timestamp) -> Caller {
        Caller {
            bearer: in_browser.into(),
            age: now.since(in_browser.session.created_at),
        }
    }

    /// A user in a browser that is known, but not signed in.
    pub(crate) fn at_home(user_id: UserId, device: Device, now: Timestamp) -> Caller {
        let bearer = Bearer {
            holder: user_id.into(),
            credential: Some(device.source.id()),
        };
        // A cookie of an earlier release has no time, and seems to be of another age.
        let age = match device.since > now {
            true => Duration::MAX,
            false => now.since(device.since),
        };
        Caller { bearer, age }
    }
}

/// Without a credential that has an age.
impl From<Holder> for Caller {
    fn from(holder: Holder) -> Caller {
        Caller {
            bearer: holder.into(),
            age: Duration::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::password::Source;

    #[test]
    fn a_cookie_is_as_old_as_it_says_or_of_an_earlier_release() {
        let now = Timestamp::from_millis(5_000);
        for (since, age) in [
            (2_000, Duration::from_secs(3)),
            (5_000, Duration::ZERO),
            (5_001, Duration::MAX),
        ] {
            let device = Device {
                source: *Source::ALL,
                since: Timestamp::from_millis(since),
            };
            let caller = Caller::at_home(UserId(Uuid::nil()), device, now);
            assert_eq!(caller.age, age, "{since}");
        }
    }
}

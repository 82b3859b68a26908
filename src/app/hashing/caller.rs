//! Who needs a password hashed.

use crate::domain::browser_session::InBrowser;
use crate::domain::device_cookie::Device;
use crate::domain::holder::{Bearer, Holder};
use crate::domain::id::UserId;
use crate::domain::time::Timestamp;

/// A caller who needs a password hashed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(super) bearer: Bearer,
    /// When the credential was issued.
    pub(super) since: Timestamp,
}

impl Caller {
    /// A user in a browser that is known, but not signed in.
    pub(crate) fn at_home(user_id: UserId, device: Device) -> Caller {
        let bearer = Bearer {
            holder: user_id.into(),
            credential: Some(device.source.id()),
        };
        Caller {
            bearer,
            since: device.since,
        }
    }
}

impl From<&InBrowser> for Caller {
    fn from(in_browser: &InBrowser) -> Caller {
        Caller {
            bearer: in_browser.into(),
            since: in_browser.session.created_at,
        }
    }
}

impl From<Holder> for Caller {
    fn from(holder: Holder) -> Caller {
        Caller {
            bearer: holder.into(),
            since: Timestamp::from_millis(0),
        }
    }
}

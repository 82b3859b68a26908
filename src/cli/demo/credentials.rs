//! The ids and secrets of the demo: random at each start, or the same at each start.

use uuid::Uuid;

use crate::domain::api_key;
use crate::domain::catalog::Mode;
use crate::domain::id::{FileId, TeamId, UserId};
use crate::domain::secret::Secret;

/// The ids and secrets that requests to the demo use.
pub(super) struct Credentials {
    pub team: TeamId,
    pub user: UserId,
    pub file: FileId,
    /// The user's password for the pages.
    pub password: Secret,
    /// Live, read and write.
    pub key: Secret,
    /// Live, read only.
    pub read_only_key: Secret,
    /// Test, read and write.
    pub test_key: Secret,
    /// Of the signed-in device, as is the next.
    pub access_token: Secret,
    pub refresh_token: Secret,
}

impl Credentials {
    /// Random ones, which cannot be guessed.
    pub(super) fn drawn() -> Credentials {
        Credentials {
            team: TeamId(Uuid::now_v7()),
            user: UserId(Uuid::now_v7()),
            file: FileId(Uuid::now_v7()),
            password: Secret::base62(),
            key: api_key::new_key(Mode::Live),
            read_only_key: api_key::new_key(Mode::Live),
            test_key: api_key::new_key(Mode::Test),
            access_token: Secret::base64url(),
            refresh_token: Secret::base64url(),
        }
    }

    /// The ones published in [`testing.md`](super::Demo), for tests to be written against.
    pub(super) fn fixed() -> Credentials {
        let id = |number: u128| Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 | number);
        let secret = |text: &str| Secret::from_text(text);
        Credentials {
            team: TeamId(id(1)),
            user: UserId(id(2)),
            file: FileId(id(3)),
            password: secret("demo tulip harbour lantern"),
            key: secret("inv_live_DemoReadWrite00000000000000000000000000000041Ct8q"),
            read_only_key: secret("inv_live_DemoReadOnly00000000000000000000000000000001OqafQ"),
            test_key: secret("inv_test_DemoReadWrite0000000000000000000000000000003YI6KG"),
            access_token: secret("demo-access-token-0000000000000000000000000"),
            refresh_token: secret("demo-refresh-token"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_credentials_are_the_fixed_ones() {
        let page = include_str!("testing.md");
        let fixed = Credentials::fixed();
        for id in [fixed.team.0, fixed.user.0, fixed.file.0] {
            assert!(page.contains(&format!("`{id}`")), "{id}");
        }
        for secret in [
            fixed.password,
            fixed.key,
            fixed.read_only_key,
            fixed.test_key,
            fixed.access_token,
            fixed.refresh_token,
        ] {
            let text = secret.reveal();
            assert!(page.contains(&format!("`{text}`")), "{text}");
        }
    }
}

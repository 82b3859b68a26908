//! API keys: what a team's integrations present instead of a password.
//!
//! 1. A key is `inv_live_<43 characters><6 characters>`, or `inv_test_...`: 256 random bits in base62, then the CRC-32
//!    of everything before it, in base62. The prefix lets people and secret scanners recognise a key; the checksum lets
//!    them rule out typing errors and random matches.
//! 2. The store has the SHA-256 of the key. The key itself is shown once, to its maker.
//! 3. A request's key is first checked for its form, so that noise never reaches the store, and then looked up, unless
//!    that was done a moment ago (`app/lease.rs`). Once a key is revoked, no process accepts it.
//! 4. A change checks the key again, in its own transaction ([`Author`]): the body may arrive long after the key, and
//!    the key may have ended in between. Revoking a key waits for the changes that found it valid.
//! 5. The last use is kept to the minute, with the client address. Requests only note it in memory; the background task
//!    writes the notes to the store together ([`record_uses`](crate::app::App::record_uses)).
//! 6. A key can be rotated once: a new key of the same team, mode, scope and name takes its place, with the lifetime
//!    that the old one was made with. The old key works on for the overlap, but never longer than it would have;
//!    without an overlap, it is revoked.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;

use super::Error;
use super::author::{Author, Caller, Right};
use super::catalog::{Catalog, Mode};
use super::id::{ApiKeyId, TeamId, UserId};
use super::input::end_of;
use super::secret::{Secret, base62};
use super::string_enum::string_enum;
use super::time::Timestamp;

string_enum! {
    /// What a key may do.
    Scope {
        /// Only GET operations.
        ReadOnly = "read-only",
        /// Every operation.
        ReadWrite = "read-write",
    }
}

/// The most keys a team may have at once that are valid, or expired less than [`EXPIRED_FOR`] ago: the keys of a removed
/// member are revoked together.
pub const KEYS_PER_TEAM: i64 = 500;

/// A key that expired this long ago is refused everywhere, and no change by it is under way.
pub const EXPIRED_FOR: Duration = Duration::from_mins(10);

/// A key that expired this long ago need not be revoked, even if the clock that says so is hours ahead.
pub const LONG_EXPIRED: Duration = Duration::from_hours(24);

/// An API key, without the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Identifies it; safe to log and to show.
    pub id: ApiKeyId,
    /// The team that it acts for.
    pub team_id: TeamId,
    /// The catalog that it sees.
    pub mode: Mode,
    /// What it may do.
    pub scope: Scope,
    /// What people call it.
    pub name: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it; `None` for the operator.
    pub created_by: Option<UserId>,
    /// The first instant at which it is no longer valid.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The minute of its last use.
    pub last_used_at: Option<Timestamp>,
    /// The key that took its place when it was rotated.
    pub replaced_by: Option<ApiKeyId>,
}

/// A key that was rotated: step 6.
#[derive(Debug)]
pub struct RotatedApiKey {
    /// The old key, as it is now.
    pub old: ApiKey,
    /// The new key.
    pub new: ApiKey,
    /// The new key itself, which is shown only this once.
    pub secret: Secret,
}

/// A key, with details that checking one does not need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownApiKey {
    /// The key.
    pub key: ApiKey,
    /// The client address of its last use; if there were several in that minute, one of them.
    pub last_used_from: Option<String>,
}

/// The same, in a list for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedApiKey {
    /// The key.
    pub shown: ShownApiKey,
    /// The maker's name, if they are still in the team.
    pub maker: Option<String>,
    /// Where it is in the list.
    pub place: ApiKeyPlace,
}

/// Where a key is in a list in which the valid keys come first, then the others, each newest first. It says in which of the two
/// the key was when it was listed: that may have changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiKeyPlace {
    /// Among the valid ones.
    Valid(ApiKeyId),
    /// Among the others.
    Ended(ApiKeyId),
}

impl Display for ApiKeyPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ApiKeyPlace::Valid(id) => id.fmt(f),
            ApiKeyPlace::Ended(id) => write!(f, "{ENDED}{id}"),
        }
    }
}

impl FromStr for ApiKeyPlace {
    type Err = <ApiKeyId as FromStr>::Err;

    fn from_str(text: &str) -> Result<ApiKeyPlace, Self::Err> {
        match text.strip_prefix(ENDED) {
            Some(id) => id.parse().map(ApiKeyPlace::Ended),
            None => text.parse().map(ApiKeyPlace::Valid),
        }
    }
}

/// What comes before the id of a key that is not valid.
const ENDED: &str = "ended-";

impl ApiKey {
    /// Checks that the key may change anything.
    ///
    /// # Errors
    /// [`Error::ScopeInsufficient`] if not.
    pub fn may_write(&self) -> Result<(), Error> {
        match self.scope {
            Scope::ReadWrite => Ok(()),
            Scope::ReadOnly => Err(Error::ScopeInsufficient),
        }
    }

    /// The first instant at which it is no longer valid, if there is one.
    pub fn end(&self) -> Option<Timestamp> {
        self.expires_at.into_iter().chain(self.revoked_at).min()
    }

    /// The error for an id that no key has; the command line shows it.
    pub(crate) fn missing(id: ApiKeyId) -> Error {
        let remedy = "`invoicing api-key list` shows the keys";
        Error::Missing {
            noun: "API key",
            id: id.to_string(),
            remedy,
        }
    }

    /// Returns this key as it is from `now` on, and the key made by `created_by` that takes its place: step 6.
    ///
    /// # Errors
    /// [`Error::Refused`] if the key has ended or was rotated before, or if an end would lie after the year 9999.
    pub(crate) fn rotated(
        self,
        id: ApiKeyId,
        created_by: Option<UserId>,
        overlap: Option<Duration>,
        now: Timestamp,
    ) -> Result<(ApiKey, ApiKey), Error> {
        let refused = |why: String| Err(Error::Refused(format!("the key {why}")));
        if let Some(other) = self.replaced_by {
            return refused(format!(
                "was rotated before, and the key {other} took its place"
            ));
        }
        if self.revoked_at.is_some() {
            return refused("is revoked; make a new one".to_owned());
        }
        if self.require_valid(now).is_err() {
            return refused("has expired; make a new one".to_owned());
        }
        let lifetime = self.expires_at.map(|end| end.since(self.created_at));
        let new = ApiKey {
            id,
            created_at: now,
            created_by,
            expires_at: lifetime.map(|time| end_of(now, time)).transpose()?,
            last_used_at: None,
            ..self.clone()
        };
        let end = overlap.map(|overlap| end_of(now, overlap)).transpose()?;
        let old = ApiKey {
            replaced_by: Some(id),
            revoked_at: end.is_none().then_some(now),
            expires_at: end.into_iter().chain(self.expires_at).min(),
            ..self
        };
        Ok((old, new))
    }

    /// Refuses a key that has ended by `now`.
    ///
    /// # Errors
    /// [`Error::InvalidToken`].
    pub(crate) fn require_valid(&self, now: Timestamp) -> Result<(), Error> {
        match self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end) {
            true => Ok(()),
            false => Err(Error::InvalidToken),
        }
    }
}

impl Caller for ApiKey {
    fn catalog(&self) -> Catalog {
        Catalog {
            team_id: self.team_id,
            mode: self.mode,
        }
    }

    fn author(&self) -> Result<Author, Error> {
        self.may_write()?;
        Ok(Author {
            catalog: self.catalog(),
            right: Right::Key(self.id),
        })
    }
}

/// Characters in the random part and in the checksum.
const RANDOM: usize = 43;
const CHECKSUM: usize = 6;

fn prefix(mode: Mode) -> &'static str {
    match mode {
        Mode::Live => "inv_live_",
        Mode::Test => "inv_test_",
    }
}

/// Makes a key: step 1.
pub(crate) fn new_key(mode: Mode) -> Secret {
    let mut key = format!("{}{}", prefix(mode), Secret::base62().reveal());
    key.extend(checksum(key.as_bytes()).map(char::from));
    Secret::from_text(key)
}

fn checksum(text: &[u8]) -> [u8; CHECKSUM] {
    base62(crc32fast::hash(text).to_be_bytes())
}

/// Step 3: whether a text can be a key at all. Costs a checksum of 52 bytes at most.
pub(crate) fn is_well_formed(text: &str) -> bool {
    let Some(rest) = Mode::ALL
        .iter()
        .find_map(|mode| text.strip_prefix(prefix(*mode)))
    else {
        return false;
    };
    if rest.len() != RANDOM + CHECKSUM || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return false;
    }
    let parts = text.as_bytes().split_last_chunk();
    parts.is_some_and(|(covered, sum)| checksum(covered) == *sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_is_well_formed_and_begins_with_its_mode() {
        for (mode, start) in [(Mode::Live, "inv_live_"), (Mode::Test, "inv_test_")] {
            let key = new_key(mode);
            assert!(key.reveal().starts_with(start));
            assert_eq!(key.reveal().len(), start.len() + 49);
            assert!(is_well_formed(key.reveal()));
        }
    }

    #[test]
    fn every_single_character_is_covered_by_the_checksum() {
        let key = new_key(Mode::Live);
        for (at, byte) in key.reveal().bytes().enumerate() {
            let mut wrong = key.reveal().as_bytes().to_vec();
            wrong[at] = if byte == b'0' { b'1' } else { b'0' };
            assert!(
                !is_well_formed(&String::from_utf8(wrong).unwrap()),
                "character {at}"
            );
        }
    }

    #[test]
    fn other_texts_are_not_keys() {
        let key = new_key(Mode::Test).reveal().to_owned();
        let accented = format!("inv_test_{}é", &key[9..key.len() - 2]);
        for text in [
            "",
            "inv_live_",
            "Bearer",
            &key[1..],
            &format!("{key}0"),
            &accented,
        ] {
            assert!(!is_well_formed(text), "{text}");
        }
    }

    #[test]
    fn a_text_of_another_length_is_no_key_whatever_its_checksum() {
        for random in ["a".repeat(RANDOM - 1), "a".repeat(RANDOM + 1)] {
            let mut key = format!("inv_live_{random}");
            key.extend(checksum(key.as_bytes()).map(char::from));
            assert!(!is_well_formed(&key), "{key}");
        }
    }

    #[test]
    fn a_key_ends_when_it_expires_or_is_revoked_whichever_comes_first() {
        let at = |millis| Some(Timestamp::from_millis(millis));
        for (expires_at, revoked_at, end) in [
            (None, None, None),
            (at(2), None, at(2)),
            (None, at(1), at(1)),
            (at(2), at(1), at(1)),
            (at(1), at(2), at(1)),
        ] {
            let key = ApiKey {
                expires_at,
                revoked_at,
                ..key()
            };
            assert_eq!(key.end(), end);
        }
    }

    #[test]
    fn a_key_in_anothers_place_was_made_by_whoever_made_it() {
        let (id, maker) = (uuid::Uuid::from_u128(1), uuid::Uuid::from_u128(2));
        let now = Timestamp::from_millis(5);
        let (old, new) = key()
            .rotated(id.into(), Some(maker.into()), None, now)
            .unwrap();
        assert_eq!((new.id.0, new.created_by.map(|it| it.0)), (id, Some(maker)));
        assert_eq!((old.created_by, old.replaced_by), (None, Some(new.id)));
    }

    fn key() -> ApiKey {
        ApiKey {
            id: uuid::Uuid::nil().into(),
            team_id: uuid::Uuid::nil().into(),
            mode: Mode::Live,
            scope: Scope::ReadOnly,
            name: None,
            created_at: Timestamp::from_millis(0),
            created_by: None,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            replaced_by: None,
        }
    }
}

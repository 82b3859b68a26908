//! The rules of the service. No SQL, no HTTP.
//!
//! [`App`] has one method for each operation of the published documents, named after its operationId,
//! and one for each command. A method decides what may happen and hands the store a whole change; a
//! decision that needs the stored state (is the sku free? is the product active?) is a plain function
//! here, which the store calls inside its transaction, so that nothing can slip in between.
//!
//! What a document already limits (lengths, ranges, lists of codes) is checked at the door and not
//! again here: a limit written twice is a limit that differs some day.

pub mod api_key;
pub mod auth_code;
pub mod cleanup;
pub mod cursor;
pub mod error;
pub mod fixture;
pub mod health;
pub mod id;
pub mod idempotency;
pub mod item;
pub mod member;
pub mod oauth_client;
pub mod product;
pub mod secret;
pub mod session;
pub mod share_link;
pub mod team;
pub mod time;
pub mod user;
mod uses;
pub mod word;

use std::sync::Arc;
use std::time::Duration;

pub use error::Error;

use crate::store::Store;
use cursor::Cursors;
use id::{ApiKeyId, IdSource, SessionId};
use time::{Clock, Timestamp};
use uses::Uses;

/// The service: its rules over a store and a clock.
pub struct App {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: IdSource,
    cursors: Cursors,
    key_leases: api_key::Leases,
    key_uses: Uses<ApiKeyId>,
    session_uses: Uses<SessionId>,
    public_url: String,
}

impl App {
    /// The service over `store`, telling the time by `clock`. The links that it hands out begin with
    /// `public_url`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] and [`Error::Internal`], as the store gives them.
    pub async fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        public_url: impl Into<String>,
    ) -> Result<App, Error> {
        let cursor_key = store.shared_secret("cursor", secret::random()).await?;
        Ok(App {
            store,
            clock,
            ids: IdSource::default(),
            cursors: Cursors::new(cursor_key),
            key_leases: api_key::Leases::default(),
            key_uses: Uses::default(),
            session_uses: Uses::default(),
            public_url: public_url.into().trim_end_matches('/').to_owned(),
        })
    }

    /// The time now, by the clock of this service.
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// What the links that the service hands out begin with; it does not end with a slash.
    pub fn public_url(&self) -> &str {
        &self.public_url
    }
}

/// When something ends that is made `now` and lasts for `time`.
///
/// # Errors
/// [`Error::Refused`] when that is after the year 9999, which no timestamp can say.
fn end_of(now: Timestamp, time: Duration) -> Result<Timestamp, Error> {
    let end = now.after(time);
    if end > Timestamp::LAST {
        return Err(Error::Refused(
            "the expiry lies after the year 9999; shorten it".into(),
        ));
    }
    Ok(end)
}

/// Text that a person typed on the command line: trimmed, not empty, no control characters (U+0000
/// above all, which PostgreSQL cannot hold), at most 255 characters.
fn command_text(what: &str, text: &str) -> Result<String, Error> {
    let text = text.trim();
    let refused = |why: &str| Err(Error::Refused(format!("the {what} {why}")));
    match () {
        () if text.is_empty() => refused("is empty; give it at least one character"),
        () if text.chars().count() > 255 => refused("is longer than 255 characters; shorten it"),
        () if text.contains(char::is_control) => refused("has a control character; remove it"),
        () => Ok(text.to_owned()),
    }
}

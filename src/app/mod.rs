//! The operations of the service: one method of [`App`] per operation of the published documents, named after its
//! operationId, and one per command.
//!
//! A method with a caller (an [`ApiKey`](crate::domain::api_key::ApiKey), a user) checks what the caller may do, and checks
//! again whatever may have ended since. A method without one is for the operator: anybody who can open the database from the
//! command line may do all of it, such as revoke any key.
//!
//! A method decides what is checked, in which order, and under which locks. The rules themselves are plain functions in
//! [`crate::domain`]; what is read and written, and how, is up to [`crate::store`].

mod account;
mod api_key;
mod audit;
mod auth_code;
mod author;
mod browser_session;
mod budget;
mod cleanup;
mod client_deletion;
pub mod counts;
mod deactivation;
mod email;
mod emptying;
mod exchange_turns;
mod hashing;
pub(crate) mod health;
mod idempotency;
mod identity;
mod import_turns;
pub mod invitation;
mod item;
mod item_deletion;
mod known;
mod last_used;
mod lease;
mod mail;
mod member;
mod membership;
mod oauth_client;
mod overview;
mod part_turns;
mod passkey;
mod password;
mod product;
pub(crate) mod product_import;
pub mod revocation;
pub mod session;
mod session_end;
pub mod set_up;
mod share_link;
pub mod sign_in;
mod steps;
mod team;
mod team_deletion;
mod user;
mod user_export;
mod ways_to_sign_in;
mod writable;

use std::net::IpAddr;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::domain::Error;
use crate::domain::authentication_request::AuthenticationRequests;
use crate::domain::catalog::Catalog;
use crate::domain::cursor::Cursors;
use crate::domain::device_cookie::DeviceCookies;
use crate::domain::holder::Holder;
use crate::domain::id::{ApiKeyId, BrowserSessionId, IdSource, SessionId, TeamId, UserId};
use crate::domain::passkey::challenge::Challenges;
use crate::domain::refused_sign_in::RefusedCounts;
use crate::domain::secret::{Digest, random};
use crate::domain::session::underway::Watch;
use crate::domain::time::{Clock, Timestamp};
use crate::domain::ways_to_sign_in::SwitchedOn;
use crate::fair_room::FairRoom;
use crate::limit::SlowLimiter;
use crate::lines::Lines;
use crate::mail::Outbox;
use crate::store::secret::{self, SharedSecret};
use crate::store::{Numbers, Store};
use counts::Counts;
use exchange_turns::ExchangeTurns;
use hashing::Hashing;
pub(crate) use import_turns::{ImportTurn, ImportTurns};
use known::Known;
use last_used::LastUsed;
use lease::Leases;
use part_turns::PartTurns;
use writable::Writable;

/// The service: its rules over a store and a clock.
pub struct App {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<IdSource>,
    cursors: Cursors,
    known: Known,
    key_leases: Leases,
    key_uses: LastUsed<ApiKeyId, Option<IpAddr>>,
    session_uses: LastUsed<SessionId>,
    browser_uses: LastUsed<BrowserSessionId>,
    hashing: Hashing,
    part_turns: PartTurns,
    import_turns: ImportTurns,
    device_cookies: OnceLock<DeviceCookies>,
    refused_sign_ins: RefusedCounts,
    counts: Counts,
    challenges: OnceLock<Challenges>,
    authentication_requests: OnceLock<AuthenticationRequests>,
    switched_on: SwitchedOn,
    public_url: String,
    origin: Option<String>,
    outbox: Option<Outbox>,
    writable: Writable,
    /// Turns to look up the user for whom a reset was requested.
    reset_turns: Semaphore,
    /// How many more resets may wait for such a turn. Strangers can request resets, and must leave room for other letters.
    resets: Arc<FairRoom>,
    /// Turns to write a user's reset letters, one at a time.
    resets_of_user: Lines<UserId>,
    /// Turns of a person to change products, one at a time.
    product_changes_of_user: Lines<UserId>,
    exchange_turns: ExchangeTurns,
    watch: Mutex<Arc<Watch>>,
    /// Users who set a password through an invitation to a team.
    joins: SlowLimiter<TeamId>,
    /// Users who prove by a passkey who they are.
    passkey_uses: SlowLimiter<UserId>,
    /// Users of whose passkeys there are copies.
    passkey_copies: SlowLimiter<UserId>,
    /// How often in a row there were records that a wrong clock has dated.
    records_seen_ahead: AtomicU32,
    before_steps: Box<dyn Fn(&Store) + Send + Sync>,
}

/// A credential of the right form, as presented, and on whose behalf it is looked up: its holder's if it was recently found
/// good, otherwise that of all strangers.
#[derive(Clone, Copy, Debug)]
pub struct Presented {
    digest: Digest,
    /// On whose behalf.
    pub holder: Holder,
}

/// How many users set a password through the invitations of a team at once, and seconds until one more. Users take turns, so
/// nobody may make thousands.
const JOINS: u32 = 100;
const JOIN_EVERY: u32 = 60;

/// How often a user may use passkeys at once, and seconds until once more; the same for copies of them. Each use leaves rows
/// behind for months, and programs that have a passkey may use it from any number of addresses.
const PASSKEY_USES: u32 = 100;
const PASSKEY_USE_EVERY: u32 = 10;

/// How many resets may wait to be looked up; no site takes all of that. Known callers, who have at most three quarters of the
/// requests, find room for their letters.
const RESETS: usize = 200;

/// How many resets are looked up at a time. Most of that time is spent waiting for PostgreSQL.
const RESET_TURNS: usize = 8;

/// How many more of one user's resets may wait: as many as are mailed in an hour.
const RESETS_OF_USER: usize = 3;

/// How many more product changes of one person may wait.
const PRODUCT_CHANGES_OF_USER: usize = 4;

impl App {
    /// The service over `store`, telling the time by `clock`. The links that it hands out start with `public_url`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] and [`Error::Internal`], from the store.
    pub async fn new(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        public_url: impl Into<String>,
    ) -> Result<App, Error> {
        let cursor_key = shared_secret(&store, SharedSecret::Cursor).await?;
        let (at_once, cores) = store.parts_at_once();
        let part_turns = PartTurns::new(at_once, cores);
        let (others, waiting) = store.imports_at_once();
        let import_turns = ImportTurns::new(others, waiting);
        Ok(App {
            store,
            clock,
            ids: Arc::default(),
            cursors: Cursors::new(cursor_key),
            known: Known::default(),
            key_leases: Leases::default(),
            key_uses: LastUsed::default(),
            session_uses: LastUsed::default(),
            browser_uses: LastUsed::default(),
            hashing: Hashing::default(),
            part_turns,
            import_turns,
            device_cookies: OnceLock::new(),
            refused_sign_ins: RefusedCounts::default(),
            counts: Counts::default(),
            challenges: OnceLock::new(),
            authentication_requests: OnceLock::new(),
            switched_on: SwitchedOn::default(),
            public_url: public_url.into().trim_end_matches('/').to_owned(),
            origin: None,
            outbox: None,
            writable: Writable::default(),
            reset_turns: Semaphore::new(RESET_TURNS),
            resets: Arc::new(FairRoom::new(RESETS)),
            resets_of_user: Lines::new(1, RESETS_OF_USER),
            product_changes_of_user: Lines::new(1, PRODUCT_CHANGES_OF_USER),
            exchange_turns: ExchangeTurns::default(),
            watch: Mutex::default(),
            joins: SlowLimiter::new(JOINS, JOIN_EVERY),
            passkey_uses: SlowLimiter::new(PASSKEY_USES, PASSKEY_USE_EVERY),
            passkey_copies: SlowLimiter::new(PASSKEY_USES, PASSKEY_USE_EVERY),
            records_seen_ahead: AtomicU32::default(),
            before_steps: Box::new(|_| {}),
        })
    }

    /// Serves pages at this origin, to which one-time links lead.
    #[must_use]
    pub fn reached_at(self, origin: Option<String>) -> App {
        App { origin, ..self }
    }

    /// Works on so many requests at once: those that wait for a password to be compared leave room to others.
    #[must_use]
    pub fn working_on(self, max_concurrent_requests: u32) -> App {
        App {
            hashing: Hashing::among(max_concurrent_requests),
            ..self
        }
    }

    /// Sends mail through `outbox`.
    #[must_use]
    pub fn mailing_by(self, outbox: Option<Outbox>) -> App {
        App { outbox, ..self }
    }

    /// A credential as presented.
    fn presented(&self, text: &str) -> Presented {
        let digest = Digest::of(text.as_bytes());
        let holder = self.known.holder(&digest);
        Presented { digest, holder }
    }

    /// Records the outcome of a credential's lookup: from now on the credential is its holder's, or a stranger's.
    fn looked_up<T>(
        &self,
        presented: Presented,
        found: Result<T, Error>,
        holder: impl FnOnce(&T) -> Holder,
    ) -> Result<T, Error> {
        match &found {
            Ok(good) => self.known.note(&presented.digest, holder(good)),
            Err(Error::InvalidToken) if presented.holder != Holder::Strangers => {
                self.known.forget(&presented.digest);
            }
            Err(_) => {}
        }
        found
    }

    /// Makes a part of a long answer, in `holder`'s next turn to do so.
    ///
    /// # Errors
    /// Those of `part`.
    pub(crate) async fn make_part<T>(
        &self,
        holder: Holder,
        part: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        self.part_turns.make(holder, part).await
    }

    /// Waits for a turn to work on an import into this catalog.
    pub(crate) async fn import_turn(
        &self,
        catalog: Catalog,
    ) -> ImportTurn<'_, impl Fn() -> bool + use<'_>> {
        let waits = move || self.waits_for_disk(catalog.into());
        self.import_turns.take(waits).await
    }

    /// Whether a read for `holder` has waited for the disk lately.
    pub(crate) fn waits_for_disk(&self, holder: Holder) -> bool {
        self.store.waits_for_disk(holder)
    }

    /// How many times as long as an import kept others waiting its team owes as rest.
    pub(crate) fn import_rest(&self) -> u32 {
        self.store.import_rest()
    }

    /// The time now, by the clock of this service.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// An id for something created now.
    pub(crate) fn new_id<Id: From<Uuid>>(&self) -> Id {
        self.ids.next(self.now())
    }

    /// The origin of the pages, if there are any: a scheme, a host and a port.
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    /// How many sign-ins this process has refused, for its metrics.
    pub fn refused_sign_ins(&self) -> &RefusedCounts {
        &self.refused_sign_ins
    }

    /// What this process has counted, for its metrics.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What the store of this process has counted, and its current state.
    pub fn store_numbers(&self) -> Numbers<'_> {
        self.store.numbers()
    }

    /// Waits until it turns out that something may stand between this process and PostgreSQL, so that statements are not
    /// prepared. Returns the reason.
    pub async fn unprepared(&self) -> &'static str {
        self.store.unprepared().await
    }

    /// The start of every share link that the service hands out, without a trailing slash.
    pub fn public_url(&self) -> &str {
        &self.public_url
    }
}

/// The secret with this name, which all processes on one database share. The first to ask for it draws it.
async fn shared_secret(store: &Store, name: SharedSecret) -> Result<[u8; 32], Error> {
    // Every command asks for it, but only the first ever has something to write.
    let found = store.read(Holder::Service, async move |sql| {
        sql.run(secret::find(name)).await
    });
    if let Some(secret) = found.await? {
        return Ok(secret);
    }
    let candidate = random::<32>();
    store
        .write(Holder::Service, async move |sql| {
            let (_, kept) = sql
                .run((secret::insert(name, &candidate), secret::find(name)))
                .await?;
            Ok(kept.ok_or_else(|| Error::internal("a secret that was just kept is not there"))?)
        })
        .await
}

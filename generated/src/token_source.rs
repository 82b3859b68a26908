//! Access tokens that are valid when used, renewed once for all callers that wait.
//!
//! 1. A token that is valid for longer than [`MARGIN`] is returned at once.
//! 2. Otherwise one renewal starts, and all callers wait for it.
//! 3. The renewal runs as a task of its own: a caller that gives up halfway must not lose the new pair,
//!    because the spent refresh token is usable for only 30 more seconds.
//! 4. It takes the store's lock and loads the stored session. If another process has renewed the session
//!    meanwhile, that one is adopted: the refresh token held here is spent, and using it would end the
//!    session for both. If another process has signed out, so has this one.
//! 5. The new session is saved before it is used. If saving fails, it is kept aside, and the next
//!    renewal starts by saving it again instead of contacting the service.
//! 6. `invalid_grant` means that the session is over: the store forgets it, and every call from then on
//!    fails without contacting the service. Any other failure leaves the session as it is, and a token
//!    that has not expired is still used.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::task::AbortHandle;

use crate::client::Client;
use crate::code::OAuthCode;
use crate::error::Error;
use crate::session::{Session, SessionStore, StoreLock};
use crate::types::AccessToken;

/// How long before it expires a token is renewed: longer than a call takes.
const MARGIN: Duration = Duration::from_secs(60);

/// Returns the access tokens of one session, and renews them.
///
/// It is cheap to clone; all clones are the same source. Using a refresh token twice ends the session,
/// so only token sources with the same store may renew it; in several processes, the store must have a
/// [`lock`](SessionStore::lock), such as [`SessionFile`](crate::SessionFile).
///
/// - A token is renewed a minute before it expires, or when the service rejects it, and only once
///   however many calls need it.
/// - Before that, the [`SessionStore`] is read, and its session adopted if another process has renewed
///   it.
/// - The renewed session is saved in the store before it is used.
/// - If the service says that the session is over, the store forgets it, and every call fails with
///   [`Error::SignedOut`].
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use invoicing_client::{Client, InMemory, TokenSource};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = Client::builder(stub.url()).build()?;
/// # let session = client.sessions().refresh("refresh-1", "mobile-app").send().await?;
/// let tokens = TokenSource::new(&client, session, InMemory);
/// assert_eq!(tokens.access_token().await?.as_str(), "access-2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TokenSource {
    shared: Arc<Source>,
}

struct Source {
    /// Without credentials, so that it does not hold a token source in turn.
    client: Client,
    store: Box<dyn Store>,
    state: Mutex<State>,
}

struct State {
    /// The session that calls use; `None` once it is over.
    session: Option<Session>,
    /// A renewed session that has not been saved yet (step 5).
    unsaved: Option<Session>,
    /// Whether the store has held this session. If it then has none, a sign-out has happened; a store
    /// that stores nothing has none from the start.
    kept: bool,
    /// The latest renewal: its task, and its result.
    renewal: Option<(AbortHandle, Renewal)>,
}

/// The result of a renewal (step 2). Its errors are shared, so that all who wait can have them.
type Renewal = Shared<BoxFuture<'static, Result<AccessToken, Arc<Error>>>>;

impl TokenSource {
    /// Creates a source for a session. It uses the client's base URL, connections and settings; the
    /// client's credentials do not matter.
    ///
    /// This does not save the session: save it as soon as you have it.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use invoicing_client::{Client, InMemory, SessionStore, TokenSource};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let stub = Stub::example();
    /// # let client = Client::builder(stub.url()).build()?;
    /// # let store = InMemory;
    /// let session = client.sessions().refresh("refresh-1", "mobile-app").send().await?;
    /// store.save(&session).await?;
    /// let tokens = TokenSource::new(&client, session, store);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(client: &Client, session: Session, store: impl SessionStore) -> TokenSource {
        let state = State {
            session: Some(session),
            unsaved: None,
            kept: false,
            renewal: None,
        };
        let shared = Source {
            client: client.anonymous(),
            store: Box::new(store),
            state: Mutex::new(state),
        };
        TokenSource {
            shared: Arc::new(shared),
        }
    }

    /// Creates a source for the session in a store; `None` if no user is signed in.
    ///
    /// # Errors
    /// [`Error::Store`] if the store cannot be read.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use invoicing_client::{Client, SessionFile, TokenSource};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = Client::builder(stub.url()).build()?;
    /// let tokens = TokenSource::open(&client, SessionFile::new("no/such/file.json")).await?;
    /// assert!(tokens.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(
        client: &Client,
        store: impl SessionStore,
    ) -> Result<Option<TokenSource>, Error> {
        let kept = SessionStore::load(&store).await;
        let kept = kept.map_err(|error| Error::Store(error.into()))?;
        Ok(kept.map(|session| {
            let tokens = TokenSource::new(client, session, store);
            tokens.shared.state().kept = true;
            tokens
        }))
    }

    /// Returns a token that is valid now, renewed first if needed. Call it within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::SignedOut`] if the session is over; [`Error::Renewal`] if it could not be renewed now
    /// and the token has expired.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # use invoicing_client::{Client, InMemory, TokenSource};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = Client::builder(stub.url()).build()?;
    /// # let session = client.sessions().refresh("refresh-1", "mobile-app").send().await?;
    /// # let tokens = TokenSource::new(&client, session, InMemory);
    /// let header = format!("Bearer {}", tokens.access_token().await?.as_str());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn access_token(&self) -> Result<AccessToken, Error> {
        let renewal = {
            let mut state = self.shared.state();
            let session = state.session.as_ref().ok_or(Error::SignedOut)?;
            if session.outlives(MARGIN) {
                return Ok(session.access_token.clone());
            }
            self.renewal(&mut state)
        };
        renewal.await.or_else(|error| {
            let session = self.session().ok_or(Error::SignedOut)?;
            match session.outlives(Duration::ZERO) {
                true => Ok(session.access_token),
                false => Err(Error::Renewal(error)),
            }
        })
    }

    /// Returns the session as it is now, or `None` once it is over.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # use invoicing_client::{Client, InMemory, TokenSource};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = Client::builder(stub.url()).build()?;
    /// # let session = client.sessions().refresh("refresh-1", "mobile-app").send().await?;
    /// # let tokens = TokenSource::new(&client, session, InMemory);
    /// let user = tokens.session().map(|session| session.user_id);
    /// # Ok(())
    /// # }
    /// ```
    pub fn session(&self) -> Option<Session> {
        self.shared.state().session.clone()
    }

    /// Returns a token in place of one that the service rejected, unless another call has already
    /// renewed it.
    pub(crate) async fn replace(&self, rejected: &AccessToken) -> Result<AccessToken, Error> {
        let renewal = {
            let mut state = self.shared.state();
            let session = state.session.as_ref().ok_or(Error::SignedOut)?;
            if session.access_token != *rejected {
                return Ok(session.access_token.clone());
            }
            self.renewal(&mut state)
        };
        renewal.await.map_err(|error| match self.session() {
            Some(_) => Error::Renewal(error),
            None => Error::SignedOut,
        })
    }

    /// Returns the renewal under way, or a new one (steps 2 and 3).
    fn renewal(&self, state: &mut State) -> Renewal {
        if let Some((task, renewal)) = &state.renewal
            && !task.is_finished()
        {
            return renewal.clone();
        }
        let source = self.shared.clone();
        let task = tokio::spawn(async move { source.renew().await.map_err(Arc::new) });
        let abort = task.abort_handle();
        let renewal = task
            .map(|ended| ended.unwrap_or_else(|panic| Err(Arc::new(Error::Store(panic.into())))))
            .boxed()
            .shared();
        state.renewal = Some((abort, renewal.clone()));
        renewal
    }
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSource")
            .field("session", &self.session())
            .finish_non_exhaustive()
    }
}

impl Source {
    async fn renew(&self) -> Result<AccessToken, Error> {
        let _lock = self.store.lock().await.map_err(Error::Store)?;
        if let Some(token) = self.take_over().await? {
            return Ok(token);
        }
        let unsaved = self.state().unsaved.clone();
        let renewed = match unsaved {
            Some(unsaved) => unsaved,
            None => self.refresh().await?,
        };
        self.state().unsaved = Some(renewed.clone());
        self.store.save(&renewed).await.map_err(Error::Store)?;
        let token = renewed.access_token.clone();
        let mut state = self.state();
        state.session = Some(renewed);
        state.unsaved = None;
        Ok(token)
    }

    /// Adopts a session that another process has renewed (step 4): returns its access token, if that is
    /// valid for long enough.
    async fn take_over(&self) -> Result<Option<AccessToken>, Error> {
        let kept = self.store.load().await.map_err(Error::Store)?;
        let mut state = self.state();
        let known = state.session.clone().ok_or(Error::SignedOut)?;
        match kept {
            Some(kept) if kept.refresh_token == known.refresh_token => {
                state.kept = true;
                Ok(None)
            }
            Some(kept) if kept.user_id == known.user_id => {
                let token = kept.outlives(MARGIN).then(|| kept.access_token.clone());
                state.session = Some(kept);
                (state.unsaved, state.kept) = (None, true);
                Ok(token)
            }
            None if !state.kept => Ok(None),
            // No user is signed in any more, or a different one, for whom this process must not act.
            _ => {
                (state.session, state.unsaved) = (None, None);
                Err(Error::SignedOut)
            }
        }
    }

    async fn refresh(&self) -> Result<Session, Error> {
        let session = self.state().session.clone().ok_or(Error::SignedOut)?;
        let mut call = self
            .client
            .sessions()
            .refresh(session.refresh_token, session.client_id);
        if let Some(install_id) = session.install_id {
            call = call.install_id(install_id);
        }
        match call.send().await {
            Err(Error::OAuth(error)) if error.code == OAuthCode::InvalidGrant => {
                self.state().session = None;
                // The end of the session matters more than a failure to forget it.
                let _ = self.store.forget().await;
                Err(Error::SignedOut)
            }
            result => result,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Code that runs under the lock cannot leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`SessionStore`] of any type.
trait Store: Send + Sync {
    fn load(&self) -> BoxFuture<'_, Result<Option<Session>, StoreError>>;
    fn save<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, Result<(), StoreError>>;
    fn forget(&self) -> BoxFuture<'_, Result<(), StoreError>>;
    fn lock(&self) -> BoxFuture<'_, Result<StoreLock, StoreError>>;
}

type StoreError = Box<dyn std::error::Error + Send + Sync>;

impl<S: SessionStore> Store for S {
    fn load(&self) -> BoxFuture<'_, Result<Option<Session>, StoreError>> {
        SessionStore::load(self)
            .map(|result| result.map_err(Into::into))
            .boxed()
    }

    fn save<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, Result<(), StoreError>> {
        SessionStore::save(self, session)
            .map(|result| result.map_err(Into::into))
            .boxed()
    }

    fn forget(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        SessionStore::forget(self)
            .map(|result| result.map_err(Into::into))
            .boxed()
    }

    fn lock(&self) -> BoxFuture<'_, Result<StoreLock, StoreError>> {
        SessionStore::lock(self)
            .map(|result| result.map_err(Into::into))
            .boxed()
    }
}

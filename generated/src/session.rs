//! What an app stores for a signed-in user.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::types::{AccessToken, ClientId, InstallId, RefreshToken, TokenResponse, UserId};

/// A pair of tokens, and everything needed to renew it.
///
/// It is made by [`Sessions::exchange_code`](crate::sessions::Sessions::exchange_code) and stored as
/// JSON or in another serde format, in a place that only the app can read: it contains secrets. `Debug`
/// does not show them.
///
/// ```
/// use invoicing_client::Session;
///
/// let kept = r#"{
///     "user_id": "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a01",
///     "client_id": "mobile-app",
///     "install_id": "phone-1",
///     "access_token": "secret-1",
///     "refresh_token": "secret-2",
///     "expires_at": "2026-11-20T21:49:00Z"
/// }"#;
/// let session: Session = serde_json::from_str(kept)?;
/// assert!(!format!("{session:?}").contains("secret"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Session {
    /// The user who signed in.
    pub user_id: UserId,
    /// The app, as registered with the service.
    pub client_id: ClientId,
    /// The installation that the session started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install_id: Option<InstallId>,
    /// The token to make calls with.
    pub access_token: AccessToken,
    /// The token to renew the session with, once.
    pub refresh_token: RefreshToken,
    /// When the access token expires, by the clock of this device.
    pub expires_at: DateTime<Utc>,
}

impl Session {
    pub(crate) fn new(
        tokens: TokenResponse,
        client_id: ClientId,
        install_id: Option<InstallId>,
        asked: SystemTime,
    ) -> Session {
        let seconds = u64::try_from(*tokens.expires_in).unwrap_or_default();
        Session {
            user_id: tokens.user_id,
            client_id,
            install_id,
            access_token: tokens.access_token,
            refresh_token: tokens.refresh_token,
            expires_at: (asked + Duration::from_secs(seconds)).into(),
        }
    }

    /// Returns whether the access token is valid for longer than a margin from now.
    pub(crate) fn outlives(&self, margin: Duration) -> bool {
        DateTime::<Utc>::from(SystemTime::now() + margin) < self.expires_at
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("user_id", &self.user_id)
            .field("client_id", &self.client_id)
            .field("install_id", &self.install_id)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// Where an app stores its session: [`SessionFile`](crate::SessionFile), or a place of your own, such
/// as the system's keychain.
///
/// A refresh token can be used once: if the new one is lost, or an old one used again, the user has to
/// sign in again. So a [`TokenSource`](crate::TokenSource) saves a renewed session before it uses it,
/// and a store must not report success before the session would survive a crash. Before it renews, a
/// token source takes the store's [`lock`](SessionStore::lock) and [loads](SessionStore::load) the
/// stored session, so that several processes can share a session: when one has renewed it, the others
/// adopt it.
///
/// ```
/// use std::io::{Error, ErrorKind};
/// use invoicing_client::{Session, SessionStore};
/// # mod keychain {
/// #     use std::io::{Error, ErrorKind};
/// #     pub async fn get(_: &str) -> Result<Vec<u8>, Error> { Err(ErrorKind::NotFound.into()) }
/// #     pub async fn set(_: &str, _: Vec<u8>) -> Result<(), Error> { Ok(()) }
/// #     pub async fn delete(_: &str) -> Result<(), Error> { Ok(()) }
/// # }
///
/// /// Of one process only, so that it needs no lock.
/// struct Keychain;
///
/// impl SessionStore for Keychain {
///     type Error = Error;
///
///     async fn load(&self) -> Result<Option<Session>, Error> {
///         match keychain::get("session").await {
///             Ok(kept) => Ok(Some(serde_json::from_slice(&kept)?)),
///             Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
///             Err(error) => Err(error),
///         }
///     }
///
///     async fn save(&self, session: &Session) -> Result<(), Error> {
///         keychain::set("session", serde_json::to_vec(session)?).await
///     }
///
///     async fn forget(&self) -> Result<(), Error> {
///         keychain::delete("session").await
///     }
/// }
/// ```
pub trait SessionStore: Send + Sync + 'static {
    /// Why the store failed.
    type Error: Into<Box<dyn std::error::Error + Send + Sync>>;

    /// Returns the stored session; `None` if no user is signed in.
    fn load(&self) -> impl Future<Output = Result<Option<Session>, Self::Error>> + Send;

    /// Stores a session in place of the previous one.
    fn save(&self, session: &Session) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Deletes the session: it is over. Succeeds if there is none.
    fn forget(&self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Waits until no other process is renewing the session, and keeps the others from doing so until
    /// the returned lock is dropped, or this process ends. The default assumes that there is no other
    /// process.
    fn lock(&self) -> impl Future<Output = Result<StoreLock, Self::Error>> + Send {
        async { Ok(StoreLock::none()) }
    }
}

impl<S: SessionStore> SessionStore for Arc<S> {
    type Error = S::Error;

    async fn load(&self) -> Result<Option<Session>, Self::Error> {
        S::load(self).await
    }

    async fn save(&self, session: &Session) -> Result<(), Self::Error> {
        S::save(self, session).await
    }

    async fn forget(&self) -> Result<(), Self::Error> {
        S::forget(self).await
    }

    async fn lock(&self) -> Result<StoreLock, Self::Error> {
        S::lock(self).await
    }
}

/// Keeps other processes from renewing a session until dropped: see [`SessionStore::lock`].
#[must_use = "the lock ends when this is dropped"]
pub struct StoreLock {
    _guard: Option<Box<dyn Send + Sync>>,
}

impl StoreLock {
    /// Creates a lock that ends when the guard is dropped, such as a locked file.
    ///
    /// ```
    /// # use invoicing_client::StoreLock;
    /// # fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("invoicing-client-{}", std::process::id()));
    /// let file = std::fs::File::create(&path)?;
    /// file.lock()?;
    /// let lock = StoreLock::new(file);
    /// # std::fs::remove_file(path)
    /// # }
    /// ```
    pub fn new(guard: impl Send + Sync + 'static) -> StoreLock {
        StoreLock {
            _guard: Some(Box::new(guard)),
        }
    }

    /// No lock: there is no other process.
    ///
    /// ```
    /// # use invoicing_client::StoreLock;
    /// let lock = StoreLock::none();
    /// ```
    pub fn none() -> StoreLock {
        StoreLock { _guard: None }
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreLock")
    }
}

/// A store that stores nothing: the session lasts as long as its [`TokenSource`](crate::TokenSource).
/// For tests and short-lived programs.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use invoicing_client::{Client, InMemory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = Client::builder(stub.url()).build()?;
/// # let session = client.sessions().refresh("refresh-1", "mobile-app").send().await?;
/// let client = client.with_session(session, InMemory);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct InMemory;

impl SessionStore for InMemory {
    type Error = std::convert::Infallible;

    async fn load(&self) -> Result<Option<Session>, Self::Error> {
        Ok(None)
    }

    async fn save(&self, _: &Session) -> Result<(), Self::Error> {
        Ok(())
    }

    async fn forget(&self) -> Result<(), Self::Error> {
        Ok(())
    }
}

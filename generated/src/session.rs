//! What an app keeps of a signed-in user.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::types::{AccessToken, ClientId, InstallId, RefreshToken, TokenResponse, UserId};

/// A pair of tokens, and all it takes to renew it.
///
/// It is made by [`Sessions::exchange_code`](crate::sessions::Sessions::exchange_code) and kept as
/// JSON or in another format of serde, in a place that only the app can read: it holds secrets.
/// `Debug` does not show them.
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
    /// Who signed in.
    pub user_id: UserId,
    /// The app, as it is registered with the service.
    pub client_id: ClientId,
    /// The installation that the session began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install_id: Option<InstallId>,
    /// What to call with.
    pub access_token: AccessToken,
    /// What to renew with, once.
    pub refresh_token: RefreshToken,
    /// When the access token ends, by the clock of this device.
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

    /// Whether the access token is valid for longer than a margin from now.
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

/// Where an app keeps its session.
///
/// A refresh token is used once: when the new one is lost, the user has to sign in again. So a
/// [`TokenSource`](crate::TokenSource) saves a renewed session before it uses it, and a store says
/// that it has saved only when the session would survive a crash.
///
/// ```
/// use std::path::PathBuf;
/// use invoicing_client::{Session, SessionStore};
///
/// struct File(PathBuf);
///
/// impl SessionStore for File {
///     type Error = std::io::Error;
///
///     async fn save(&self, session: &Session) -> std::io::Result<()> {
///         let new = self.0.with_extension("new");
///         tokio::fs::write(&new, serde_json::to_vec(session)?).await?;
///         tokio::fs::File::open(&new).await?.sync_all().await?;
///         tokio::fs::rename(&new, &self.0).await
///     }
///
///     async fn forget(&self) -> std::io::Result<()> {
///         tokio::fs::remove_file(&self.0).await
///     }
/// }
/// ```
pub trait SessionStore: Send + Sync + 'static {
    /// Why the store failed.
    type Error: Into<Box<dyn std::error::Error + Send + Sync>>;

    /// Keeps a session in place of the one kept before.
    fn save(&self, session: &Session) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Forgets the session: it is over.
    fn forget(&self) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

impl<S: SessionStore> SessionStore for Arc<S> {
    type Error = S::Error;

    async fn save(&self, session: &Session) -> Result<(), Self::Error> {
        S::save(self, session).await
    }

    async fn forget(&self) -> Result<(), Self::Error> {
        S::forget(self).await
    }
}

/// A store that keeps nothing: the session lasts as long as its
/// [`TokenSource`](crate::TokenSource). For tests and short-lived programs.
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

    async fn save(&self, _: &Session) -> Result<(), Self::Error> {
        Ok(())
    }

    async fn forget(&self) -> Result<(), Self::Error> {
        Ok(())
    }
}

//! Fetches and keeps the provider's metadata and keys: step 1 of [`super`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use openidconnect::core::{
    CoreAuthDisplay, CoreClaimName, CoreClaimType, CoreClientAuthMethod, CoreGrantType,
    CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm,
    CoreResponseMode, CoreResponseType, CoreSubjectIdentifierType,
};
use openidconnect::{AdditionalProviderMetadata, DiscoveryError, IssuerUrl, ProviderMetadata};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::error::{Error, short};
use super::fetch::{Fetch, FetchError};
use crate::settings::{Issuer, is_loopback};

/// How long they are kept.
const KEPT_FOR: Duration = Duration::from_secs(60 * 60);

/// The shortest time between two fetches for unknown keys.
const UNKNOWN_KEY_EVERY: Duration = Duration::from_secs(60);

/// How long after a failure the provider is not asked again.
const FAILED_FOR: Duration = Duration::from_secs(2);

/// What RFC 9207, section 3, adds.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Promise {
    authorization_response_iss_parameter_supported: Option<bool>,
}

impl Promise {
    /// Returns whether every user who comes back brings `iss`.
    pub(super) fn is_promised(&self) -> bool {
        self.authorization_response_iss_parameter_supported == Some(true)
    }
}

impl AdditionalProviderMetadata for Promise {}

/// The provider's metadata, with its keys.
pub(super) type Metadata = ProviderMetadata<
    Promise,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

/// What is known of the provider.
#[derive(Debug, Default)]
pub(super) struct Known {
    state: Mutex<State>,
    /// Of many callers that ask at once, one fetches.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    found: Option<(Arc<Metadata>, Instant)>,
    failed: Option<(String, Instant)>,
    /// When it was last fetched for an unknown key.
    unknown_key: Option<Instant>,
}

impl Known {
    /// Returns whether no caller has to wait for it.
    pub(super) fn is_there(&self) -> bool {
        self.at_hand(None).is_some()
    }

    /// Returns what is known, or fetches it now. `outdated` is what lacks a key. Of many callers that ask at once for what
    /// is not known, one fetches, and the others wait for that.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(super) async fn find(
        &self,
        fetch: &Fetch,
        issuer: &Issuer,
        outdated: Option<&Arc<Metadata>>,
    ) -> Result<Arc<Metadata>, Error> {
        if let Some(known) = self.at_hand(outdated) {
            return known;
        }
        let _only = self.fetching.lock().await;
        if let Some(known) = self.at_hand(outdated) {
            return known;
        }
        let fetched = fetched(fetch, issuer).await;
        let mut state = self.state();
        let now = Instant::now();
        match fetched {
            Ok(found) => {
                let found = Arc::new(found);
                if outdated.is_some() {
                    state.unknown_key = Some(now);
                }
                state.found = Some((Arc::clone(&found), now));
                Ok(found)
            }
            Err(why) => {
                state.failed = Some((why.clone(), now));
                Err(Error::Unavailable(why))
            }
        }
    }

    /// Returns what can be answered without asking the provider.
    fn at_hand(&self, outdated: Option<&Arc<Metadata>>) -> Option<Result<Arc<Metadata>, Error>> {
        let is_recent = |at: Instant, span| at.elapsed() < span;
        let state = self.state();
        if let Some((found, at)) = &state.found
            && is_recent(*at, KEPT_FOR)
        {
            let lacks = outdated.is_some_and(|it| Arc::ptr_eq(it, found));
            let lately = |at| is_recent(at, UNKNOWN_KEY_EVERY);
            if !lacks || state.unknown_key.is_some_and(lately) {
                return Some(Ok(Arc::clone(found)));
            }
        }
        let (why, at) = state.failed.as_ref()?;
        is_recent(*at, FAILED_FOR).then(|| Err(Error::Unavailable(why.clone())))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is consistent after every change, so a poisoned lock holds a good one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn fetched(fetch: &Fetch, issuer: &Issuer) -> Result<Metadata, String> {
    let url = IssuerUrl::new(issuer.as_str().to_owned()).map_err(|error| error.to_string())?;
    let found = Metadata::discover_async(url, fetch).await;
    let found = found.map_err(|error| short(&said(&error)))?;
    // A browser is sent there with what the code is bound to.
    let url = found.authorization_endpoint().url();
    let on_this_machine = || !issuer.is_secure() && url.host_str().is_some_and(is_loopback);
    match url.scheme() == "https" || (url.scheme() == "http" && on_this_machine()) {
        true => Ok(found),
        false => Err("its authorization endpoint is not reached by TLS".into()),
    }
}

/// Returns the reason, without what came, which may be long.
fn said(error: &DiscoveryError<FetchError>) -> String {
    match error {
        DiscoveryError::Request(error) => error.to_string(),
        DiscoveryError::Response(_, _, why) => why.clone(),
        DiscoveryError::Parse(error) => format!("its metadata cannot be read: {error}"),
        DiscoveryError::Validation(why) => why.clone(),
        error => error.to_string(),
    }
}

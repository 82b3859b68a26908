//! Sessions: signed-in devices, and the tokens that they hold.
//!
//! `app/session.rs` describes, step by step, how a code is exchanged and a token refreshed. This module has the types
//! that those steps work on, the rulings on them ([`rules`]), and how a pair can be given twice ([`grace`]).

pub mod grace;
pub mod pair;
pub mod rules;
pub mod underway;

use std::net::IpAddr;
use std::sync::Arc;

use super::Error;
use super::auth_code::CodeChallenge;
use super::id::{SessionId, UserId};
use super::oauth_client::ClientId;
use super::secret::{Digest, Secret};
use super::time::Timestamp;
use grace::Sealed;
use pair::PairDigests;
use underway::Watch;

/// A signed-in device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Identifies it; it is not a secret.
    pub id: SessionId,
    /// Who is signed in.
    pub user_id: UserId,
    /// The app that the user is signed in with.
    pub client_id: ClientId,
    /// The installation of the app, if the app named one: every refresh must name the same.
    pub install_id: Option<String>,
    /// What the app last said it was.
    pub user_agent: Option<String>,
    /// When the code was exchanged.
    pub created_at: Timestamp,
    /// When it was last used: to the minute for an access token, exactly for an exchange.
    pub last_used_at: Timestamp,
    /// When it ends unless it is refreshed before.
    pub expires_at: Timestamp,
}

impl Session {
    /// The error for an id that no session has; the command line shows it.
    pub(crate) fn missing(id: SessionId) -> Error {
        Error::Missing {
            noun: "session",
            id: id.to_string(),
            remedy: "`invoicing session list` shows the sessions that are alive",
        }
    }
}

/// How many sessions of a user were ended together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedSessions {
    /// Of apps.
    pub apps: u64,
    /// Of browsers.
    pub browsers: u64,
}

/// The device that an app runs on, about which the app need not say anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// The installation of the app.
    pub install_id: Option<String>,
    /// The app and the device, for people to recognise.
    pub user_agent: Option<String>,
    /// The client address, as the server sees it.
    pub client_address: Option<IpAddr>,
}

/// What a client asks of the token endpoint.
#[derive(Clone, Debug)]
pub enum TokenRequest {
    /// A session for a code (RFC 6749, 4.1.3).
    AuthorizationCode {
        /// The code.
        code: Secret,
        /// What the code's challenge was made from.
        code_verifier: Secret,
        /// Where the code was sent.
        redirect_uri: String,
        /// The app that asks.
        client_id: ClientId,
        /// The device that the app runs on.
        device: Device,
    },
    /// The next pair of tokens of a session (RFC 6749, 6).
    RefreshToken {
        /// The refresh token.
        refresh_token: Secret,
        /// The app that asks.
        client_id: ClientId,
        /// The device that the app runs on.
        device: Device,
    },
}

/// What a client gets. Both tokens are shown only this once, and never in a log.
#[derive(Clone, Debug)]
pub struct TokenSet {
    /// For requests, until it expires or the session ends.
    pub access_token: Secret,
    /// For the next pair; works once.
    pub refresh_token: Secret,
    /// How long the access token works, in whole seconds.
    pub expires_in: u64,
    /// Who is signed in.
    pub user_id: UserId,
}

/// The exchange of a code, as it goes to the store (after Code 1).
#[derive(Clone, Debug)]
pub struct CodeExchange {
    /// The digest of the presented code.
    pub code: Digest,
    /// The challenge that the presented verifier answers.
    pub challenge: CodeChallenge,
    /// The presented redirect URI.
    pub redirect_uri: String,
    /// The app that presents them.
    pub client_id: ClientId,
    /// The device that the app names; kept with the session.
    pub device: Device,
    /// The session that starts if the code is valid.
    pub session_id: SessionId,
    /// Its first pair.
    pub pair: PairDigests,
    /// When it was asked for.
    pub now: Timestamp,
}

/// A refresh, as it goes to the store (after Refresh 1).
#[derive(Clone, Debug)]
pub struct Refresh {
    /// The digest of the presented token.
    pub token: Digest,
    /// The app that presents it.
    pub client_id: ClientId,
    /// The device that the app names.
    pub device: Device,
    /// The successor pair, if the token is unspent.
    pub pair: PairDigests,
    /// The same pair, to be given again during the grace.
    pub sealed: Sealed,
    /// What this process has seen of late commits.
    pub watch: Arc<Watch>,
    /// When it was asked for.
    pub now: Timestamp,
}

/// A refresh that was granted.
#[derive(Clone, Debug)]
pub struct Refreshed {
    /// Who is signed in.
    pub user_id: UserId,
    /// The pair that was given before (Refresh 6); `None` if the new one counts (Refresh 5).
    pub given_before: Option<Sealed>,
    /// When the access token of the pair expires.
    pub expires_at: Timestamp,
}

/// Who is behind an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedIn {
    /// The user.
    pub user_id: UserId,
    /// The session: rate limits count by it, and its last use is recorded.
    pub session_id: SessionId,
}

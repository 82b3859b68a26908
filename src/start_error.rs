//! Why a server could not be started.

use std::io;
use std::net::SocketAddr;

use dropshot::{ApiDescriptionRegisterError, BuildError};

use crate::tls;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Certificate or key cannot be used.
    #[error(transparent)]
    Tls(#[from] tls::Error),
    /// The address is taken, not ours, or not allowed.
    #[error(
        "cannot listen on {address}: {source}. Choose another with {option} ADDRESS:PORT; port 0 takes a free one"
    )]
    Listen {
        /// Where the address was given.
        option: &'static str,
        /// The address.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// Two endpoints conflict: a bug.
    #[error("cannot register the endpoints: {0}")]
    Endpoints(#[from] ApiDescriptionRegisterError),
    /// dropshot failed for another reason.
    #[error("cannot start the server: {0}")]
    Framework(BuildError),
    /// The operating system does not let us listen for signals.
    #[error("cannot wait for signals: {0}")]
    Signals(io::Error),
}

impl StartError {
    /// Converts dropshot's error about a server on the address of `option`.
    pub(crate) fn building(option: &'static str, error: BuildError) -> Self {
        match error {
            BuildError::BindError { address, error } => StartError::Listen {
                option,
                address,
                source: error,
            },
            other => StartError::Framework(other),
        }
    }
}

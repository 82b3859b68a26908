//! Reads and checks the certificate and its key before they are used.
//!
//! dropshot reads PEM files too, but panics on a key that does not belong to its certificate, even when it rereads them
//! while the server runs; and it accepts only PKCS #8 keys.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use x509_cert::der::Decode as _;

use crate::settings::TlsFiles;

/// How long before its expiry a certificate should have been renewed: ACME clients renew a month before.
pub(crate) const RENEWED_BEFORE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Why a server cannot speak TLS with these files.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The certificates cannot be read.
    #[error("cannot read certificates from {}: {source}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// The file has no certificate.
    #[error("{} has no certificate (a block `BEGIN CERTIFICATE`)", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The key cannot be read.
    #[error("cannot read a private key from {}: {source}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// Certificate and key do not fit together, or are of a kind that TLS does not use.
    #[error("cannot use {} with {}: {source}", certificate.display(), key.display())]
    Unusable {
        /// The file of the certificates.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// What is wrong with them.
        source: rustls::Error,
    },
}

/// A certificate and its validity.
pub(crate) struct Certificate {
    /// As it was read.
    der: CertificateDer<'static>,
    not_before: Duration,
    not_after: Duration,
}

impl Certificate {
    /// Returns the server's own certificate from files that a server can use.
    ///
    /// # Errors
    /// As [`load`].
    pub(crate) fn inspect(files: TlsFiles<'_>) -> Result<Certificate, Error> {
        load(files)?;
        let path = || files.certificate.to_owned();
        let first = chain(files)?.into_iter().next();
        let der = first.ok_or_else(|| Error::NoCertificate { path: path() })?;
        // Cannot fail: rustls has read it as well.
        let read = x509_cert::Certificate::from_der(&der);
        let read = read.map_err(|_| Error::NoCertificate { path: path() })?;
        let validity = read.tbs_certificate.validity;
        Ok(Certificate {
            der,
            not_before: validity.not_before.to_unix_duration(),
            not_after: validity.not_after.to_unix_duration(),
        })
    }

    /// Returns when it expires, in Unix time.
    pub(crate) fn ends_at(&self) -> Duration {
        self.not_after
    }

    /// Returns how long it is still valid; `None` if it is not.
    pub(crate) fn ends_in(&self, now: SystemTime) -> Option<Duration> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        (self.not_before <= now).then(|| self.not_after.checked_sub(now))?
    }

    /// Returns whether it is for this host, a name or an address.
    pub(crate) fn covers(&self, host: &str) -> bool {
        let host = host.trim_matches(['[', ']']);
        let Ok(name) = ServerName::try_from(host) else {
            return false;
        };
        let parsed = ParsedCertificate::try_from(&self.der);
        parsed.is_ok_and(|it| verify_server_name(&it, &name).is_ok())
    }
}

/// Reads the certificates of a file, the server's own first.
fn chain(files: TlsFiles<'_>) -> Result<Vec<CertificateDer<'static>>, Error> {
    CertificateDer::pem_file_iter(files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|source| Error::Certificate {
            path: files.certificate.to_owned(),
            source,
        })
}

/// Reads both files and checks that the key belongs to the first certificate.
pub(crate) fn load(files: TlsFiles<'_>) -> Result<ServerConfig, Error> {
    let (certificate, key) = (files.certificate.to_owned(), files.key.to_owned());
    let chain = chain(files)?;
    if chain.is_empty() {
        return Err(Error::NoCertificate { path: certificate });
    }
    let secret = PrivateKeyDer::from_pem_file(&key).map_err(|source| Error::Key {
        path: key.clone(),
        source,
    })?;
    // The provider is named, so that a second one elsewhere in the build makes no difference.
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(chain, secret)
        })
        .map_err(|source| Error::Unusable {
            certificate,
            key,
            source,
        })?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

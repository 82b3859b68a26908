//! Certificate and key, read and checked before they are used.
//!
//! dropshot reads PEM files too, but panics on a key that does not belong to its certificate, also when
//! it reads them again while the server runs; and it knows keys in PKCS #8 only.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::settings::TlsFiles;

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

/// Reads both files and checks that the key belongs to the first certificate.
pub(crate) fn load(files: TlsFiles<'_>) -> Result<ServerConfig, Error> {
    let (certificate, key) = (files.certificate.to_owned(), files.key.to_owned());
    let chain = CertificateDer::pem_file_iter(&certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|source| Error::Certificate {
            path: certificate.clone(),
            source,
        })?;
    if chain.is_empty() {
        return Err(Error::NoCertificate { path: certificate });
    }
    let secret = PrivateKeyDer::from_pem_file(&key).map_err(|source| Error::Key {
        path: key.clone(),
        source,
    })?;
    // The provider is named, so that a second one elsewhere in the build leaves no choice to be made.
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

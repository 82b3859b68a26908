//! A certificate for loopback, and clients that trust only it.

use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// A certificate and its key.
pub struct Certificate {
    /// The certificate in PEM.
    pub pem: String,
    /// Its key in PEM.
    pub key: String,
    authority: CertificateDer<'static>,
}

impl Certificate {
    /// Generates a new one.
    pub fn new() -> Self {
        let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).expect("a certificate can be made");
        Self {
            pem: cert.pem(),
            key: signing_key.serialize_pem(),
            authority: cert.der().clone(),
        }
    }

    /// A client that trusts it.
    pub fn client(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots
            .add(self.authority.clone())
            .expect("it is a certificate");
        ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_root_certificates(roots)
            .with_no_client_auth()
    }
}

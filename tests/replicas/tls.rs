//! Redis over TLS.

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;
use test_support::redis::Redis;
use test_support::replica::Replica;

use crate::BINARY;

#[test]
fn a_redis_is_reached_by_tls_only_with_a_certificate_that_is_trusted() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(path("cert.pem"), cert.pem()).unwrap();
    std::fs::write(path("key.pem"), signing_key.serialize_pem()).unwrap();
    let redis = Redis::start_with_tls(&path("cert.pem"), &path("key.pem"));

    let database = format!("sqlite:{}", path("invoicing.db").display());
    let url = redis.url();
    assert!(url.starts_with("rediss://"), "{url}");
    let (trusted, nothing) = (path("cert.pem"), path("nothing.pem"));
    std::fs::write(&nothing, "").unwrap();
    for (roots, reached) in [(&trusted, true), (&nothing, false)] {
        let settings = [
            ("INVOICING_DATABASE", database.as_str()),
            ("INVOICING_REDIS", &url),
            // The certificates that this process trusts as the system's.
            ("SSL_CERT_FILE", roots.to_str().unwrap()),
        ];
        let name = if reached { "trusting" } else { "wary" };
        let mut replica = Replica::start(BINARY, name, folder.path(), &settings);
        // On a busy machine, the first attempt may exceed its time limit.
        replica.wait_until_counted(&format!(
            "invoicing_rate_limits_shared {}",
            u8::from(reached)
        ));
    }
}

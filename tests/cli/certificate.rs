//! A certificate and its key, in a test's folder.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, KeyPair};

use crate::place::Place;

pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Writes a new one for this name with this expiry, as `cert.pem` and `key.pem`. Returns the certificate.
pub(crate) fn write(place: &Place, name: &str, end: SystemTime) -> String {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.not_after = end.into();
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    place.write("cert.pem", &certificate);
    place.write("key.pem", key.serialize_pem());
    let for_its_owner = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(place.path("key.pem"), for_its_owner).unwrap();
    certificate
}

/// Writes a new one for this machine that does not expire soon, and returns it.
pub(crate) fn write_for_this_machine(place: &Place) -> String {
    write(place, "127.0.0.1", SystemTime::now() + 90 * DAY)
}

//! TLS handshakes that do not end. dropshot keeps them without a time limit, which only a proxy in front fixes
//! (`proxies.rs`): here they must cost others nothing, and the process little.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use test_support::given;
use test_support::service::Service;

use crate::BINARY;
use crate::attack::{self, Protocol, Target, idle};
use crate::certificate::Certificate;
use crate::process::Process;
use crate::scale::sized;

/// What a waiting handshake may take, in MiB: 9 KB were measured.
const EACH: f64 = 0.032;

/// How long others wait for their own.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(1);

/// The start of a 512-byte ClientHello.
const BEGINNING: [u8; 11] = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];

#[tokio::test]
async fn endless_handshakes_cost_others_nothing_and_do_not_delay_a_stop() {
    let _turn = attack::turn().await;
    let (folder, certificate) = (tempfile::tempdir().expect("a folder"), Certificate::new());
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("the folder can be written");
        path.display().to_string()
    };
    let settings = [
        ("INVOICING_TLS_CERT", &*file("cert.pem", &certificate.pem)),
        ("INVOICING_TLS_KEY", &*file("key.pem", &certificate.key)),
    ];
    let service = given!(Service::own(BINARY, &settings));
    let address = service.caller.base_url().replace("https://", "");
    let address = address.parse().expect("an address and a port");
    let target = Target::over_tls(address, certificate.client());

    let process = Process::of(&service);
    let memory = process.watch();
    let count = sized(500, 5_000);
    let mut held = idle::silent(&target, count, count);
    assert_eq!(held.len(), count as usize, "the attack has not begun");
    for stream in held.iter_mut().step_by(2) {
        stream.write_all(&BEGINNING).expect("it reads");
    }
    for number in 0..20 {
        let begun = Instant::now();
        let mut stream = target.connect(0, Protocol::Http1).expect("a handshake");
        let request = b"GET /api/v1/products HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request).expect("it reads");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("it answers");
        assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 401");
        let took = begun.elapsed();
        assert!(
            took <= HANDSHAKE_TIMEOUT,
            "handshake and answer {number} took {took:?}"
        );
    }
    let (growth, most) = (memory.growth(), f64::from(count) * EACH + 8.0);
    assert!(
        growth <= most,
        "memory grew by {growth:.0} MiB, more than {most:.0}"
    );
    let took = process.stop();
    assert!(took.as_secs() < 2, "it took {took:?} to stop");
    drop(held);
}

//! TLS: certificate and key from files, reloaded on SIGHUP.

use std::time::SystemTime;

use crate::certificate::{self, DAY};
use crate::operations::Operated;
use crate::place::Place;
use crate::server::Server;

fn serve(place: &Place) -> Server {
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        "cert.pem",
        "--tls-key",
        "key.pem",
    ];
    Server::start(&mut place.command(serve))
}

/// Whether a client that trusts only this certificate gets an answer, over a new connection.
async fn answers(server: &Server, certificate: &str) -> bool {
    let certificate = reqwest::Certificate::from_pem(certificate.as_bytes()).unwrap();
    let client = reqwest::Client::builder()
        .tls_certs_only([certificate])
        .build()
        .unwrap();
    let request = client.get(format!("{}/api/v1/openapi.json", server.url));
    match request.send().await {
        // Reads to the end: a stopping server waits for clients that are still reading.
        Ok(answer) => answer.status() == 200 && answer.bytes().await.is_ok(),
        Err(_) => false,
    }
}

// Multi-threaded, so that the client answers while the test waits for the server to end.
#[tokio::test(flavor = "multi_thread")]
async fn sighup_takes_a_new_certificate_and_keeps_the_old_one_when_that_fails() {
    let place = Place::new();
    let first = certificate::write_for_this_machine(&place);
    let mut server = serve(&place);
    assert!(
        server.url.starts_with("https://127.0.0.1:"),
        "{}",
        server.url
    );
    assert!(answers(&server, &first).await);

    let second = certificate::write_for_this_machine(&place);
    assert!(answers(&server, &first).await, "nothing is read unasked");
    server.signal("HUP");
    server.wait_for("certificate read again");
    assert!(answers(&server, &second).await);
    assert!(!answers(&server, &first).await);

    let key_of_another = std::fs::read(place.path("key.pem")).unwrap();
    certificate::write_for_this_machine(&place);
    for (name, text, why) in [
        (
            "key.pem",
            &key_of_another[..],
            "cannot use cert.pem with key.pem",
        ),
        (
            "key.pem",
            b"no key",
            "cannot read a private key from key.pem",
        ),
        ("cert.pem", b"", "cert.pem has no certificate"),
    ] {
        place.write(name, text);
        server.signal("HUP");
        let line = server.wait_for("the old certificate stays");
        assert!(line["error"].as_str().unwrap().contains(why), "{line}");
        assert_eq!(line["level"], "error");
        assert!(answers(&server, &second).await);
    }
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn files_that_cannot_be_used_fail_with_1_before_the_port_is_taken() {
    let place = Place::new();
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        "cert.pem",
        "--tls-key",
        "key.pem",
    ];
    place
        .run(&serve)
        .failed(1, "error: cannot read certificates from cert.pem");
    certificate::write_for_this_machine(&place);
    place.write("key.pem", "no key");
    place
        .run(&serve)
        .failed(1, "error: cannot read a private key from key.pem");
    let certificate = certificate::write_for_this_machine(&place);
    certificate::write_for_this_machine(&place);
    place.write("cert.pem", certificate);
    place
        .run(&serve)
        .failed(1, "error: cannot use cert.pem with key.pem");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_ends_is_told_of_in_time_and_served_on_once_it_has_ended() {
    const SERIES: &str = "invoicing_tls_certificate_end_timestamp_seconds";
    let place = Place::new();
    let end = SystemTime::now() + 10 * DAY;
    certificate::write(&place, "127.0.0.1", end);
    let options = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let mut operated = Operated::start(&place, &options);
    let line = operated.server.line("the certificate ends soon");
    assert_eq!(line["days"], 9);
    let end = end.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(operated.number(SERIES), end.as_secs() as f64);

    let over = SystemTime::now() - DAY;
    certificate::write(&place, "127.0.0.1", over);
    operated.server.signal("HUP");
    let message = "clients refuse the certificate: it has ended, or its time has not begun";
    operated.server.wait_for(message);
    let over = over.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(operated.number(SERIES), over.as_secs() as f64);
    let strict = std::fs::read_to_string(place.path("cert.pem")).unwrap();
    assert!(!answers(&operated.server, &strict).await);
    let careless = reqwest::Client::builder().tls_danger_accept_invalid_certs(true);
    let url = format!("{}/api/v1/openapi.json", operated.server.url);
    let answer = careless.build().unwrap().get(url).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

//! `sslmode`, against a server with a certificate for `localhost`.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::Path;

use invoicing::domain::Error;
use invoicing::domain::holder::Holder;
use invoicing::store::{Address, Sql, open, team};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;
use test_support::postgres::{Cluster, Locked, ask};

use super::lost::nothing_runs;

/// Gives the server a certificate and a key that only it can read.
fn speak_tls(cluster: &Cluster, certified: &CertifiedKey<rcgen::KeyPair>) {
    let owner = std::fs::metadata(cluster.folder()).unwrap();
    for (name, pem) in [
        ("server.crt", certified.cert.pem()),
        ("server.key", certified.signing_key.serialize_pem()),
    ] {
        let file = cluster.folder().join(name);
        std::fs::write(&file, pem).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&file, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    for (setting, name) in [
        ("ssl_cert_file", "server.crt"),
        ("ssl_key_file", "server.key"),
    ] {
        let file = cluster.folder().join(name);
        let set = format!("ALTER SYSTEM SET {setting} = '{}'", file.display());
        cluster.ask("postgres", &set);
    }
    cluster.ask("postgres", "ALTER SYSTEM SET ssl = on");
    cluster.ask("postgres", "SELECT pg_reload_conf()");
    // Reloaded settings apply to sessions that start after that.
    while cluster.ask("postgres", "SHOW ssl") != "on" {
        std::thread::yield_now();
    }
}

/// The same database with another host name.
fn by_name(url: &str, host: &str, query: &str) -> String {
    format!("{}?{query}", url.replace("127.0.0.1", host))
}

fn roots(mode: &str, file: &Path) -> String {
    format!("sslmode={mode}&sslrootcert={}", file.display())
}

#[tokio::test]
async fn a_server_is_believed_as_far_as_sslmode_says() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let certified = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(path("ours.pem"), certified.cert.pem()).unwrap();
    std::fs::write(path("other.pem"), other.cert.pem()).unwrap();
    let (ours, other) = (path("ours.pem"), path("other.pem"));

    let cluster = Cluster::start();
    let url = cluster.database();
    let clear = open(
        &by_name(&url, "127.0.0.1", "sslmode=require")
            .parse()
            .unwrap(),
    )
    .await;
    assert!(clear.is_err(), "this server does not speak TLS yet");
    speak_tls(&cluster, &certified);

    for (host, query, encrypted) in [
        ("localhost", roots("verify-full", &ours), Some(true)),
        ("localhost", roots("verify-full", &other), None),
        ("127.0.0.1", roots("verify-full", &ours), None),
        ("127.0.0.1", roots("verify-ca", &ours), Some(true)),
        ("127.0.0.1", roots("verify-ca", &other), None),
        ("127.0.0.1", roots("require", &other), None),
        ("127.0.0.1", "sslmode=require".to_owned(), Some(true)),
        ("127.0.0.1", "sslmode=prefer".to_owned(), Some(true)),
        ("127.0.0.1", "sslmode=disable".to_owned(), Some(false)),
    ] {
        let address: Address = by_name(&url, host, &query).parse().unwrap();
        let store = open(&address).await;
        let ours = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
             WHERE application_name = 'invoicing' ORDER BY backend_start DESC LIMIT 1";
        let found = store.as_ref().ok().map(|_| ask(&url, ours) == "t");
        let said = store.err().map(|error| error.to_string());
        assert_eq!(found, encrypted, "{host} {query}: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_is_given_up_is_stopped_by_tls_too() {
    let cluster = Cluster::start();
    let certified = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    speak_tls(&cluster, &certified);
    let url = cluster.database();
    let address = by_name(&url, "127.0.0.1", "sslmode=require");
    let store = open(&address.parse().unwrap()).await.unwrap();
    let locked = Locked::all(&url);
    let list = async |sql: Sql<'_>| sql.run(team::list(Default::default())).await;
    let read = store.read(Holder::Service, list).await;
    assert!(matches!(read, Err(Error::Unavailable(_))), "{read:?}");
    nothing_runs(&url).await;
    drop(locked);
    assert_eq!(store.read(Holder::Service, list).await.unwrap(), []);
}

#[tokio::test]
async fn certificates_that_cannot_be_read_are_named() {
    let url = "postgres://h/d?sslmode=verify-full&sslrootcert=no/such/file.pem";
    let said = open(&url.parse().unwrap()).await.err().unwrap().to_string();
    assert!(said.contains("no/such/file.pem"), "{said}");
}

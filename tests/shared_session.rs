//! Two processes that share one session file, against the real service, which ends a session whose refresh token
//! is used twice.
//! Each process is this test binary again, with its task in a variable. `INVOICING_SHARE_SECONDS=60` makes them
//! go on for a minute, which is longer than the service forgives a repeated refresh.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use invoicing_client::{
    Client, Error, InMemory, Session, SessionFile, SessionStore, StoreLock, TokenSource,
};
use test_support::deployment::Skip;
use test_support::service::{CODE_VERIFIER, Device, Service};

const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

/// How long the processes go on unless `INVOICING_SHARE_SECONDS` says otherwise.
const SECONDS: u64 = 4;

/// The task of a process: the service, the file, the team and the file whose links to list, and how long.
const TASK: &str = "INVOICING_SHARE_TASK";

/// The session file, but every session is about to expire: each use renews.
struct Hasty(SessionFile);

impl SessionStore for Hasty {
    type Error = std::io::Error;

    async fn load(&self) -> std::io::Result<Option<Session>> {
        let mut kept = self.0.load().await?;
        if let Some(session) = &mut kept {
            session.expires_at -= chrono::Duration::hours(2);
        }
        Ok(kept)
    }

    async fn save(&self, session: &Session) -> std::io::Result<()> {
        self.0.save(session).await
    }

    async fn forget(&self) -> std::io::Result<()> {
        self.0.forget().await
    }

    async fn lock(&self) -> std::io::Result<StoreLock> {
        self.0.lock().await
    }
}

/// A service, a signed-in device, and a client.
async fn given() -> Result<(Service, Device, Client, Session), Skip> {
    let service = Service::own(BINARY, &[])?;
    let team = service.team()?;
    let device = service.device(&team).await?;
    let code = service.authorization_code(&device)?;
    let client = Client::builder(service.caller.base_url()).build();
    let client = client.expect("the base URL is fine");
    let (redirect_uri, client_id) = (device.redirect_uri.as_str(), device.client_id.as_str());
    let sessions = client.sessions();
    let exchange = sessions.exchange_code(code, CODE_VERIFIER, redirect_uri, client_id);
    let session = exchange.install_id("phone-1").send().await;
    Ok((service, device, client, session.expect("a session")))
}

#[tokio::test]
async fn two_processes_with_one_file_do_not_end_each_others_session() {
    let Ok((service, device, client, session)) = given().await.map_err(|skip| skip.print()) else {
        return;
    };
    let seconds = std::env::var("INVOICING_SHARE_SECONDS").ok();
    let seconds = seconds.map_or(SECONDS, |it| it.parse().expect("a number of seconds"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.json");
    let file = SessionFile::new(&path);
    file.save(&session).await.expect("it is saved");

    let base_url = service.caller.base_url();
    let processes = [(); 2].map(|()| process(base_url, &path, &device, seconds));
    let renewals = processes.map(|process| {
        let output = process.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        let count = text.lines().find_map(|line| line.split_once("renewals: "));
        let (_, count) = count.unwrap_or_else(|| panic!("{text}"));
        count.trim().parse::<u64>().expect("a number")
    });
    println!("{renewals:?} renewals in {seconds} seconds");
    assert!(
        renewals.iter().all(|count| *count > seconds),
        "{renewals:?}"
    );

    let kept = client.with_kept_session(file).await.expect("it is read");
    let kept = kept.expect("still signed in");
    let links = kept.links().list(device.team_id, "file", device.file_id);
    links.send().await.expect("the session is alive");
}

fn process(base_url: &str, path: &Path, device: &Device, seconds: u64) -> Child {
    let task = [
        base_url,
        path.to_str().expect("a path in UTF-8"),
        &device.team_id,
        &device.file_id,
        &seconds.to_string(),
    ];
    let test = std::env::current_exe().expect("this binary");
    Command::new(test)
        .args(["--exact", "one_of_the_processes", "--nocapture"])
        .env(TASK, task.join("\n"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Not a test by itself: the work of each process.
#[tokio::test]
async fn one_of_the_processes() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let task: Vec<_> = task.lines().collect();
    let [base_url, path, team, file, seconds] = task[..] else {
        panic!("{task:?}");
    };
    let client = Client::builder(base_url).build().expect("a client");
    let end = Instant::now() + Duration::from_secs(seconds.parse().expect("a number"));
    let mut renewals = 0_u64;
    while Instant::now() < end {
        let store = Hasty(SessionFile::new(path));
        let signed_in = client.with_kept_session(store).await.expect("it is read");
        let signed_in = signed_in.expect("still signed in");
        let links = signed_in.links().list(team, "file", file);
        links.send().await.expect("the session is alive");
        renewals += 1;
    }
    println!("\nrenewals: {renewals}");
}

#[tokio::test]
async fn two_who_do_not_look_at_what_the_other_did_end_the_session() {
    let Ok((_service, _, client, session)) = given().await.map_err(|skip| skip.print()) else {
        return;
    };
    // A store that keeps nothing shares nothing: each continues with the pair that it has.
    let renewed = async |session: &Session| {
        let mut session = session.clone();
        session.expires_at -= chrono::Duration::hours(2);
        let tokens = TokenSource::new(&client, session, InMemory);
        tokens.access_token().await?;
        Ok::<_, Error>(tokens.session().expect("signed in"))
    };
    let of_one = renewed(&session).await.expect("the first renewal");
    let of_one = renewed(&of_one).await.expect("the second renewal");
    let of_other = renewed(&session).await;
    assert!(matches!(of_other, Err(Error::SignedOut)), "{of_other:?}");
    let of_one = renewed(&of_one).await;
    assert!(matches!(of_one, Err(Error::SignedOut)), "{of_one:?}");
}

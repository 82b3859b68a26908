//! What the files of a database reveal to a thief who has a spent refresh token.
//!
//! For 30 seconds the database holds the pair that such a token was spent for, so that a lost answer costs nothing. The
//! thief here has copies of the files as they lie on disk, and tries every byte of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use invoicing::app::App;
use invoicing::domain::auth_code::CodeChallenge;
use invoicing::domain::oauth_client::ClientId;
use invoicing::domain::secret::{Digest, Secret};
use invoicing::domain::session::{Device, TokenRequest, TokenSet};
use invoicing::domain::time::{ManualClock, Timestamp};
use invoicing::domain::user::User;
use invoicing::sqlite::Sqlite;
use tempfile::TempDir;
use test_support::service::Service;

const REDIRECT_URI: &str = "com.example.app:/signed-in";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// Two tokens of 43 characters and a space, between a nonce and a tag.
const SEALED: usize = NONCE_LEN + 87 + 16;

/// The same, sealed once more in a wrapping.
const WRAPPED: usize = NONCE_LEN + SEALED + 16;

/// The bytes of a row before a key that wraps pairs: the length of the head, the number, which is not stored twice, and
/// a blob of 32 bytes.
const BEFORE_KEY: [u8; 3] = [3, 0, 12 + 2 * 32];

/// The bytes of every file of a database, as they are.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(".db"))
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

fn aead(key: &[u8]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).unwrap())
}

/// Decrypts the start of `bytes` with `key`.
fn open(key: &LessSafeKey, bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    let (nonce, ciphertext) = bytes.get(..length)?.split_at(NONCE_LEN);
    // Most of a file is empty.
    if nonce == [0; NONCE_LEN] {
        return None;
    }
    let nonce = Nonce::try_assume_unique_for_key(nonce).unwrap();
    let mut text = ciphertext.to_vec();
    let text = key.open_in_place(nonce, Aad::empty(), &mut text).ok()?;
    Some(text.to_vec())
}

/// The wrapping keys in these bytes, and anything else that looks like one.
fn wrapping_keys(bytes: &[u8]) -> Vec<[u8; 32]> {
    let found = bytes.windows(BEFORE_KEY.len() + 32);
    let found = found.filter(|window| window.starts_with(&BEFORE_KEY));
    let mut keys: Vec<[u8; 32]> = found.map(|row| row[3..].try_into().unwrap()).collect();
    keys.retain(|key| key.iter().filter(|byte| **byte == 0).count() < 8);
    keys.sort();
    keys.dedup();
    keys
}

struct Length;

impl KeyType for Length {
    fn len(&self) -> usize {
        32
    }
}

/// The key derived from a spent token.
fn key_of(spent: &Secret) -> LessSafeKey {
    let mut key = [0; 32];
    let secret = Salt::new(HKDF_SHA256, &[]).extract(spent.reveal().as_bytes());
    let info = [&b"invoicing refresh successor 1"[..]];
    secret
        .expand(&info, Length)
        .unwrap()
        .fill(&mut key)
        .unwrap();
    aead(&key)
}

/// Where in the files the thief finds the pair that one of these tokens was spent for, if anywhere.
fn stolen(files: &[(PathBuf, Vec<u8>)], spent: &[Secret]) -> Option<String> {
    let tokens: Vec<_> = spent.iter().map(key_of).collect();
    let keys = files.iter().flat_map(|(_, bytes)| wrapping_keys(bytes));
    let keys: Vec<_> = keys.map(|key| aead(&key)).collect();
    for (path, bytes) in files {
        for at in 0..bytes.len() {
            let rest = &bytes[at..];
            let wrapped = keys.iter().filter_map(|key| open(key, rest, WRAPPED));
            let opened: Vec<_> = wrapped.collect();
            let opens = |token: &LessSafeKey| {
                let inner = opened
                    .iter()
                    .any(|sealed| open(token, sealed, SEALED).is_some());
                inner || open(token, rest, SEALED).is_some()
            };
            if let Some(hop) = tokens.iter().position(opens) {
                return Some(format!("hop {hop} at byte {at} of {}", path.display()));
            }
        }
    }
    None
}

/// A service on a separate file, whose clock the test sets, with a user and an app.
struct Mobile {
    app: App,
    clock: Arc<ManualClock>,
    user: User,
    folder: TempDir,
}

impl Mobile {
    async fn new() -> Mobile {
        let folder = TempDir::new().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_795_211_340_123)));
        let store = Arc::new(Sqlite::open(folder.path().join("test.db")).unwrap().into());
        let app = App::new(store, clock.clone(), "https://links.example");
        let app = app.await.unwrap();
        let uris = [REDIRECT_URI.to_owned()];
        app.create_oauth_client("app", "An app", &uris)
            .await
            .unwrap();
        let user = app.create_user("ada@example.com", "Ada").await.unwrap();
        Mobile {
            app,
            clock,
            user,
            folder,
        }
    }

    async fn sign_in(&self) -> TokenSet {
        let digest = Digest::of(VERIFIER.as_bytes());
        let challenge = CodeChallenge::from_digest(digest);
        let client_id = ClientId::new("app");
        let issued = self
            .app
            .issue_auth_code(self.user.id, &client_id, REDIRECT_URI, challenge);
        let request = TokenRequest::AuthorizationCode {
            code: issued.await.unwrap().code,
            code_verifier: Secret::from_text(VERIFIER),
            redirect_uri: REDIRECT_URI.into(),
            client_id,
            device: Device::default(),
        };
        self.app.exchange_token(request).await.unwrap()
    }

    async fn refresh(&self, refresh_token: &Secret) -> TokenSet {
        let request = TokenRequest::RefreshToken {
            refresh_token: refresh_token.clone(),
            client_id: ClientId::new("app"),
            device: Device::default(),
        };
        self.app.exchange_token(request).await.unwrap()
    }

    /// Advances the clock by this many seconds, and does what the background task does every five of them.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds.div_ceil(5) {
            self.clock.advance(Duration::from_secs(5));
            self.app.erase_successors().await.unwrap();
        }
    }

    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        files(self.folder.path())
    }
}

#[tokio::test]
async fn a_minute_after_the_grace_no_file_yields_a_pair_to_whoever_has_spent_tokens() {
    let mobile = Mobile::new().await;
    let mut spent = vec![mobile.sign_in().await.refresh_token];
    for _ in 0..5 {
        let next = mobile.refresh(spent.last().unwrap()).await.refresh_token;
        spent.push(next);
    }
    // The search finds the pair for as long as it has to be there.
    let during = mobile.files();
    assert!(
        stolen(&during, &spent[4..5]).is_some(),
        "the thief is blind"
    );

    mobile.pass(60).await;
    let after = mobile.files();
    assert_eq!(stolen(&after, &spent), None);
    let keys = |files: &[(PathBuf, Vec<u8>)]| -> usize {
        files
            .iter()
            .map(|(_, bytes)| wrapping_keys(bytes).len())
            .sum()
    };
    assert_eq!((keys(&during) > 0, keys(&after)), (true, 0));
}

/// Meanwhile pages are split, and leave parts of their contents behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nor_after_many_sessions_were_refreshed_at_once() {
    const SESSIONS: usize = 60;
    const HOPS: usize = 10;
    let mobile = Arc::new(Mobile::new().await);
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|_| {
            let mobile = Arc::clone(&mobile);
            tokio::spawn(async move {
                let mut spent = vec![mobile.sign_in().await.refresh_token];
                for _ in 0..HOPS {
                    let next = mobile.refresh(spent.last().unwrap()).await.refresh_token;
                    spent.push(next);
                }
                spent
            })
        })
        .collect();
    let mut keys = Vec::new();
    for (number, session) in sessions.into_iter().enumerate() {
        let spent = session.await.unwrap();
        keys.extend(
            mobile
                .files()
                .iter()
                .flat_map(|(_, bytes)| wrapping_keys(bytes)),
        );
        if number % 10 == 0 {
            mobile.pass(5).await;
        }
        if number == SESSIONS - 1 {
            mobile.pass(60).await;
            let after = mobile.files();
            assert_eq!(stolen(&after, &spent), None);
            keys.dedup();
            assert!(!keys.is_empty());
            for (path, bytes) in after {
                let kept = bytes
                    .windows(32)
                    .filter(|part| keys.iter().any(|key| key == part));
                assert_eq!(kept.count(), 0, "keys in {}", path.display());
            }
        }
    }
}

/// The binary, with the clock of the machine.
#[tokio::test]
#[ignore = "it takes 90 seconds: cargo test --test hostile residue -- --ignored"]
async fn a_server_forgets_within_a_minute_of_the_end_of_the_grace() {
    let service = Service::own(env!("CARGO_BIN_EXE_invoicing"), &[]).unwrap();
    let device = service.device(&service.team().unwrap()).await.unwrap();
    let mut spent = vec![Secret::from_text(device.refresh_token.clone())];
    for _ in 0..3 {
        let grant = device.refresh_grant(spent.last().unwrap().reveal());
        let answer = service.exchange(&grant).await.expect_status(200);
        let next = answer.json()["refresh_token"].as_str().unwrap().to_owned();
        spent.push(Secret::from_text(next));
    }
    let file = service.own_database().unwrap();
    let folder = Path::new(file.strip_prefix("sqlite:").unwrap())
        .parent()
        .unwrap();
    assert!(
        stolen(&files(folder), &spent[2..3]).is_some(),
        "the thief is blind"
    );
    let end = Instant::now() + Duration::from_secs(90);
    while stolen(&files(folder), &spent).is_some() {
        assert!(Instant::now() < end, "{:?}", stolen(&files(folder), &spent));
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

//! A session shared by several processes: each token source here stands for one of them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use invoicing_client::{Error, Session, SessionFile, SessionStore, TokenSource};

use crate::sessions::{client, session};
use crate::stub::{Reply, Stub};

/// A folder of the test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let name = format!("invoicing-client-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn store(&self) -> SessionFile {
        SessionFile::new(self.0.join("session.json"))
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap().flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Renews `refresh-0` to `refresh-1` and so on, and ends the session if one is used twice. Each new
/// access token lives for this many seconds.
fn rotating(seconds: u32) -> Stub {
    let spent = Arc::new(Mutex::new(0));
    Stub::start(move |request| {
        let token = request.json()["refresh_token"].as_str().unwrap().to_owned();
        let mut spent = spent.lock().unwrap();
        if token != format!("refresh-{spent}") {
            return Reply::oauth_error(400, "invalid_grant");
        }
        *spent += 1;
        let lifetime = format!(r#""expires_in":{seconds}"#);
        let reply = Reply::tokens(&format!("access-{spent}"), &format!("refresh-{spent}"));
        reply.replace(r#""expires_in":3600"#, &lifetime)
    })
}

#[tokio::test]
async fn what_another_process_has_renewed_is_taken_over() {
    let (stub, folder) = (rotating(3600), Folder::new("taken-over"));
    folder.store().save(&session(-1)).await.unwrap();
    let one = TokenSource::new(&client(&stub), session(-1), folder.store());
    let other = TokenSource::open(&client(&stub), folder.store()).await;
    let other = other.unwrap().expect("it was saved");
    assert_eq!(one.access_token().await.unwrap(), "access-1");
    assert_eq!(other.access_token().await.unwrap(), "access-1");
    assert_eq!(stub.requests().len(), 1, "the other asked the store only");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_renew_at_once_use_no_token_twice() {
    // Tokens that have already expired, so that every call renews.
    let (stub, folder) = (rotating(0), Folder::new("at-once"));
    folder.store().save(&session(-1)).await.unwrap();
    let works = (0..8).map(|_| {
        let tokens = TokenSource::new(&client(&stub), session(-1), folder.store());
        tokio::spawn(async move {
            for _ in 0..5 {
                tokens.access_token().await.unwrap();
            }
        })
    });
    for work in works.collect::<Vec<_>>() {
        work.await.unwrap();
    }
    assert_eq!(stub.requests().len(), 40);
    let kept = folder.store().load().await.unwrap().unwrap();
    assert_eq!(kept.refresh_token, "refresh-40");
    assert_eq!(folder.files(), ["session.json", "session.json.lock"]);
}

#[tokio::test]
async fn who_signs_out_signs_out_the_others() {
    let (stub, folder) = (rotating(0), Folder::new("signed-out"));
    folder.store().save(&session(-1)).await.unwrap();
    let tokens = TokenSource::new(&client(&stub), session(-1), folder.store());
    tokens.access_token().await.unwrap();
    folder.store().forget().await.unwrap();
    folder.store().forget().await.unwrap();
    assert!(matches!(tokens.access_token().await, Err(Error::SignedOut)));
    assert_eq!(stub.requests().len(), 1);
    assert_eq!(
        folder.store().load().await.unwrap(),
        None,
        "nothing came back"
    );
    let again = TokenSource::open(&client(&stub), folder.store()).await;
    assert!(again.unwrap().is_none());
}

#[tokio::test]
async fn nobody_acts_for_a_user_who_signed_in_elsewhere() {
    let (stub, folder) = (rotating(0), Folder::new("another-user"));
    let mut another = session(3600);
    another.user_id = crate::FILE.try_into().unwrap();
    another.refresh_token = "of-another".try_into().unwrap();
    folder.store().save(&another).await.unwrap();
    let tokens = TokenSource::new(&client(&stub), session(-1), folder.store());
    assert!(matches!(tokens.access_token().await, Err(Error::SignedOut)));
    assert_eq!(folder.store().load().await.unwrap(), Some(another));
    assert_eq!(stub.requests().len(), 0);
}

#[tokio::test]
async fn a_session_that_was_never_saved_is_saved_when_it_is_renewed() {
    let (stub, folder) = (rotating(3600), Folder::new("never-saved"));
    let tokens = TokenSource::new(&client(&stub), session(-1), folder.store());
    assert_eq!(tokens.access_token().await.unwrap(), "access-1");
    assert_eq!(folder.store().load().await.unwrap(), tokens.session());
}

#[tokio::test]
async fn the_lock_keeps_the_others_out_until_it_is_dropped() {
    let folder = Folder::new("lock");
    let lock = folder.store().lock().await.unwrap();
    let store = folder.store();
    let soon = Duration::from_millis(60);
    let waiting = tokio::time::timeout(soon, store.lock()).await;
    assert!(waiting.is_err(), "it is held");
    drop(lock);
    let lock = tokio::time::timeout(Duration::from_secs(10), store.lock());
    let _lock = lock.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_file_is_its_owners_and_what_is_no_session_says_so() {
    let folder = Folder::new("private");
    folder.store().save(&session(60)).await.unwrap();
    let path = folder.0.join("session.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    std::fs::write(path, "{").unwrap();
    assert!(folder.store().load().await.is_err());
    let nowhere = SessionFile::new(folder.0.join("no/such/folder"));
    assert!(nowhere.save(&session(60)).await.is_err());
    assert_eq!(folder.files(), ["session.json"]);
    assert!(nowhere.load().await.unwrap().is_none());
}

#[tokio::test]
async fn a_store_that_cannot_be_read_or_locked_fails_the_renewal() {
    struct Broken;
    impl SessionStore for Broken {
        type Error = std::io::Error;
        async fn load(&self) -> std::io::Result<Option<Session>> {
            Err(std::io::Error::other("unreadable"))
        }
        async fn save(&self, _: &Session) -> std::io::Result<()> {
            Ok(())
        }
        async fn forget(&self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let stub = rotating(3600);
    let tokens = TokenSource::new(&client(&stub), session(-1), Broken);
    let error = tokens.access_token().await.unwrap_err();
    assert!(matches!(&error, Error::Renewal(cause) if matches!(**cause, Error::Store(_))));
    assert!(error.to_string().contains("unreadable"), "{error}");
    assert_eq!(stub.requests().len(), 0, "no token was spent");
    let opened = TokenSource::open(&client(&stub), Broken).await;
    assert!(matches!(opened, Err(Error::Store(_))));
}

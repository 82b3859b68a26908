//! Whoever knows the password of an account, and is signed in to it, cannot keep its owner out.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use test_support::caller::Request;
use test_support::deployment::Skip;
use test_support::given;
use test_support::response_validator::Received;
use test_support::service::Service;

use crate::BINARY;
use crate::attack;
use crate::people::{ORIGIN, change_rows, form, signed_in};

const PASSWORD: &str = "lantern+harbour+tulip+nine";

/// How often the thief is signed in, and the requests that are sent at once from each session: together more than may wait.
const SESSIONS: usize = 12;
const AT_ONCE: usize = 5;

/// Signs in with the password, and returns the cookies.
async fn sign_in(service: &Service, device: &str) -> (Received, String) {
    let text = format!("email=ada%40example.com&password={PASSWORD}");
    let request = form("/sign-in", &text).header("cookie", device);
    let answer = service.caller.send_unchecked(request).await;
    let answer = answer.expect("an answer comes");
    let cookies = answer.headers.iter().filter(|it| it.0 == "set-cookie");
    let cookies = cookies.filter_map(|it| it.1.split(';').next());
    let cookies = cookies.collect::<Vec<_>>().join("; ");
    (answer, cookies)
}

/// The form of a link with which the owner sets a new password.
fn reset(service: &Service) -> Result<Request, Skip> {
    let link = ["user", "reset-link", "ada@example.com", "--origin", ORIGIN];
    let url = service.command(&link)?["url"].clone();
    let path = url.as_str().and_then(|url| url.strip_prefix(ORIGIN));
    Ok(form(
        path.expect("a page"),
        "password=harbour-lamp-violet-27",
    ))
}

/// The right password of the account is compared all the time: in all sessions of the thief, who has another device cookie after
/// each second request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_signed_in_many_times_keeps_the_owner_from_nothing() {
    let _turn = attack::turn().await;
    let settings = [
        ("INVOICING_ORIGIN", ORIGIN),
        ("INVOICING_RATE_LIMIT", "off"),
    ];
    let service = given!(Service::own(BINARY, &settings));
    let (_, owner) = given!(signed_in(&service).await);
    // The owner has been signed in for longer than the thief.
    let age = "UPDATE browser_session SET created_at = created_at - 3600000";
    given!(change_rows(&service, age));
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(sign_in(&service, "").await.1);
    }
    let refused = AtomicU32::new(0);
    let text = format!("current_password={PASSWORD}&password=short");
    let attack = sessions.iter().flat_map(|it| [it; AT_ONCE]);
    let attack = attack.map(async |session| {
        let mut cookies = session.clone();
        loop {
            let form = form("/account/password", &text).header("cookie", session);
            let changed = service.caller.send_unchecked(form).await;
            let (signed_in, newer) = sign_in(&service, &cookies).await;
            if signed_in.status == 303 {
                cookies = newer;
            }
            let statuses = [changed.map_or(0, |it| it.status), signed_in.status];
            let many = statuses.iter().filter(|it| **it == 503).count();
            refused.fetch_add(many as u32, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let owner = async {
        while refused.load(Ordering::Relaxed) < 10 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut answers = Vec::new();
        for _ in 0..3 {
            let begun = Instant::now();
            // A wrong one, since the right one would give the session another cookie.
            let wrong = "current_password=no-such-password-here&password=harbour-lamp-violet-27";
            let form = form("/account/password", wrong).header("cookie", &owner);
            let answer = service.caller.send_unchecked(form).await;
            answers.push((answer.expect("an answer comes").status, begun.elapsed()));
        }
        let reset = reset(&service)?;
        let begun = Instant::now();
        let answer = service.caller.send_unchecked(reset).await;
        answers.push((answer.expect("an answer comes").status, begun.elapsed()));
        Ok::<_, Skip>(answers)
    };
    let answers = tokio::select! {
        answers = owner => given!(answers),
        _ = join_all(attack) => unreachable!("it goes on without end"),
    };
    // The passwords were compared.
    let statuses: Vec<_> = answers.iter().map(|it| it.0).collect();
    assert_eq!(statuses, [422, 422, 422, 303], "{answers:?}");
    assert!(answers.iter().all(|it| it.1.as_secs() < 8), "{answers:?}");
}

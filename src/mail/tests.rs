use std::io;
use std::sync::Mutex;

use slog::Drain as _;
use test_support::mail::{MailServer, Manner};
use uuid::Uuid;

use super::shares::PLACES_OF_A_TEAM;
use super::*;
use crate::domain::letter::Letters;
use crate::domain::secret::Secret;
use crate::settings::{MailFrom, SmtpUrl};

const LINK: &str = "https://a.example/reset/secret";

/// Short, except for what is to be cut off.
const SHORT: Times = Times {
    attempt: Duration::from_secs(20),
    patience: Duration::from_secs(20),
    pauses: (Duration::from_millis(5), Duration::from_millis(20)),
    last_chance: Duration::from_secs(20),
    last_attempt: Duration::from_millis(500),
};

/// Nothing is tried again before the test is over.
const PATIENT: Times = Times {
    patience: Duration::from_secs(36_000),
    pauses: (Duration::from_secs(3600), Duration::from_secs(3600)),
    ..SHORT
};

/// What was logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Tried {
    server: MailServer,
    outbox: Outbox,
    counts: Counts,
    lines: Lines,
}

impl Tried {
    fn new(manner: Manner, times: Times) -> Tried {
        let server = MailServer::start(manner);
        let lines = Lines::default();
        let drain = slog_term::PlainSyncDecorator::new(lines.clone());
        let drain = slog_term::FullFormat::new(drain).build().fuse();
        let log = Logger::root(drain, o!());
        let url: SmtpUrl = server.url().parse().unwrap();
        let from: MailFrom = "invoices@a.example".parse().unwrap();
        let settings = MailSettings {
            server: &url,
            from: &from,
        };
        let counts = Counts::default();
        let origin = "https://a.example".parse().unwrap();
        let outbox = Outbox::with_times(settings, &origin, counts.clone(), &log, times);
        Tried {
            server,
            outbox: outbox.unwrap(),
            counts,
            lines,
        }
    }

    /// Sends a letter of another team each time.
    fn send(&self, to: &str) {
        self.send_of(TeamId(Uuid::new_v4()), to);
    }

    fn send_of(&self, team: TeamId, to: &str) {
        let letters = Letters {
            origin: "https://a.example",
        };
        let letter = letters.reset(to, "Bo", &Secret::from_text(LINK));
        let place = self.outbox.reserve_for(Some(team), letter.occasion);
        place.unwrap().send(letter);
    }

    /// Letters that were sent, that were given up, and that wait.
    fn counted(&self) -> (u64, u64, i64) {
        let Counts {
            sent,
            failed,
            waiting,
        } = &self.counts;
        (sent.get(), failed.get(), waiting.get())
    }

    /// Waits until no letter waits.
    async fn settled(&self) {
        // A letter is in one of them, and goes from the first to the second.
        for places in [&self.outbox.0.places, &self.outbox.0.again] {
            drop(places.acquire_many(PLACES).await.unwrap());
        }
    }

    fn log(&self) -> String {
        String::from_utf8(self.lines.0.lock().unwrap().clone()).unwrap()
    }
}

#[tokio::test]
async fn a_letter_is_sent_and_counted() {
    let tried = Tried::new(Manner::Takes, SHORT);
    tried.send("bo@b.example");
    let mail = tried.server.next().await;
    assert_eq!(
        (&*mail.from, &*mail.to),
        ("invoices@a.example", &["bo@b.example".to_owned()][..])
    );
    assert!(mail.text().contains(LINK));
    tried.settled().await;
    assert_eq!(tried.counted(), (1, 0, 0));
}

#[tokio::test]
async fn a_letter_is_tried_again_until_it_is_taken() {
    for manner in [Manner::RefusesForNow, Manner::Drops] {
        let tried = Tried::new(manner, SHORT);
        tried.send("bo@b.example");
        while tried.server.attempts() < 3 {
            tokio::task::yield_now().await;
        }
        assert_eq!(tried.counted(), (0, 0, 1), "{manner:?}");
        tried.server.behave(Manner::Takes);
        tried.server.next().await;
        tried.settled().await;
        assert_eq!(tried.counted(), (1, 0, 0), "{manner:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_away_is_waited_for_and_then_given_up() {
    let times = Times {
        patience: Duration::from_millis(50),
        ..SHORT
    };
    let tried = Tried::new(Manner::RefusesForNow, times);
    tried.send("bo@b.example");
    tried.settled().await;
    assert_eq!(tried.counted(), (0, 1, 0));
    assert!(tried.server.attempts() > 1);
}

#[tokio::test]
async fn what_is_refused_for_good_is_not_tried_again() {
    let tried = Tried::new(Manner::RefusesForGood, SHORT);
    tried.send("bo@b.example");
    tried.settled().await;
    assert_eq!((tried.counted(), tried.server.attempts()), ((0, 1, 0), 1));
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up() {
    let times = Times {
        attempt: Duration::from_millis(50),
        patience: Duration::ZERO,
        ..SHORT
    };
    let tried = Tried::new(Manner::Hangs, times);
    for number in 0..2 * LINES {
        tried.send(&format!("bo{number}@b.example"));
    }
    tried.settled().await;
    assert_eq!(tried.counted(), (0, 2 * LINES as u64, 0));
}

/// An answer must not fill our memory, nor keep a core busy reading it.
#[tokio::test]
async fn a_server_whose_answer_does_not_end_is_given_up() {
    for manner in [Manner::Babbles, Manner::Boasts] {
        let times = Times {
            patience: Duration::ZERO,
            ..SHORT
        };
        let tried = Tried::new(manner, times);
        tried.send("bo@b.example");
        tried.settled().await;
        assert_eq!(tried.counted(), (0, 1, 0));
        let log = tried.log();
        assert!(log.contains("more than an answer may have"), "{log}");
    }
}

#[tokio::test]
async fn a_letter_that_was_taken_is_sent_once_though_the_server_does_not_say_goodbye() {
    let tried = Tried::new(Manner::Stays, SHORT);
    tried.send("bo@b.example");
    tried.settled().await;
    assert_eq!(tried.counted(), (1, 0, 0));
    assert_eq!(tried.server.attempts(), 1);
}

#[tokio::test]
async fn so_many_letters_are_promised_and_no_more() {
    let tried = Tried::new(Manner::Hangs, SHORT);
    for number in 0..PLACES - 1 {
        tried.send(&format!("bo{number}@b.example"));
    }
    let last = tried.outbox.reserve().unwrap();
    let refused = tried.outbox.reserve().map(drop);
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    drop(last);
    tried.outbox.reserve().map(drop).unwrap();
    assert_eq!(tried.counted(), (0, 0, i64::from(PLACES) - 1));
    // A few are on their way at once.
    while tried.server.attempts() < LINES + MORE_LINES {
        tokio::task::yield_now().await;
    }
    assert_eq!(tried.outbox.0.lines.available_permits(), 0);
    assert_eq!(tried.server.attempts(), LINES + MORE_LINES);
}

#[tokio::test]
async fn a_team_has_a_share_of_the_places_that_are_not_for_all() {
    let tried = Tried::new(Manner::Hangs, SHORT);
    let (team, other) = (TeamId(Uuid::nil()), TeamId(Uuid::max()));
    let reserve = |team, occasion| tried.outbox.reserve_for(team, occasion);
    let reset = || reserve(Some(team), Occasion::Reset);
    let for_all = tried
        .outbox
        .0
        .for_all
        .acquire_many(FOR_ALL as u32)
        .await
        .unwrap();
    let own: Vec<_> = (0..PLACES_OF_A_TEAM).map(|_| reset().unwrap()).collect();
    assert!(matches!(reset().map(drop), Err(Error::Unavailable(_))));
    let others = [
        reserve(Some(team), Occasion::Invitation).unwrap(),
        reserve(Some(other), Occasion::Reset).unwrap(),
        reserve(None, Occasion::Reset).unwrap(),
    ];
    drop(for_all);
    reset().map(drop).unwrap();
    drop((own, others));
}

#[tokio::test]
async fn a_team_leaves_four_of_the_places_that_are_for_all_for_each_that_it_has() {
    let tried = Tried::new(Manner::Hangs, SHORT);
    let mut taken = Vec::new();
    let mut of_team = |team| {
        let reserve = || {
            tried
                .outbox
                .reserve_for(Some(team), Occasion::Invitation)
                .ok()
        };
        let before = taken.len();
        taken.extend(std::iter::from_fn(reserve));
        taken.len() - before
    };
    let all: Vec<_> = (0..5)
        .map(|it| of_team(TeamId(Uuid::from_u128(it))))
        .collect();
    assert!(all.is_sorted_by(|one, next| one > next), "{all:?}");
    let of_another = of_team(TeamId(Uuid::max()));
    assert!(
        of_another > 2 * PLACES_OF_A_TEAM,
        "{of_another} beside {all:?}"
    );
}

#[tokio::test]
async fn a_team_has_a_share_of_the_places_of_letters_that_are_tried_again() {
    let tried = Tried::new(Manner::RefusesForNow, PATIENT);
    let (team, other) = (TeamId(Uuid::nil()), TeamId(Uuid::max()));
    let again = |taken: usize| tried.outbox.0.again.available_permits() == PLACES as usize - taken;
    for number in 0..PLACES_OF_A_TEAM {
        tried.send_of(team, &format!("bo{number}@b.example"));
    }
    while !again(PLACES_OF_A_TEAM) {
        tokio::task::yield_now().await;
    }
    let for_all = tried
        .outbox
        .0
        .for_all_again
        .acquire_many(FOR_ALL as u32)
        .await
        .unwrap();
    tried.send_of(team, "eve@b.example");
    tried.send_of(other, "eve@b.example");
    let is_known = async {
        while tried.counted().1 == 0 || !again(PLACES_OF_A_TEAM + 1) {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), is_known)
        .await
        .expect("the team's last is given up");
    assert!(tried.log().contains("too many wait"), "{}", tried.log());
    drop(for_all);
    tried.server.behave(Manner::Takes);
    tried.outbox.finish().await;
    assert_eq!(tried.counted(), (PLACES_OF_A_TEAM as u64 + 1, 1, 0));
}

/// A caller may have letters sent to addresses whose server accepts none.
#[tokio::test]
async fn letters_that_are_tried_again_keep_no_other_back() {
    let tried = Tried::new(Manner::RefusesForNow, PATIENT);
    for number in 0..3 {
        tried.send(&format!("bo{number}@b.example"));
    }
    while tried.outbox.0.again.available_permits() > PLACES as usize - 3 {
        tokio::task::yield_now().await;
    }
    drop(tried.outbox.0.places.acquire_many(PLACES).await.unwrap());
    assert_eq!(tried.counted(), (0, 0, 3));
    // If no more may wait for that, one is given up.
    let free = tried.outbox.0.again.available_permits() as u32;
    let taken = tried.outbox.0.again.acquire_many(free).await.unwrap();
    tried.send("eve@b.example");
    while tried.counted().1 == 0 {
        tokio::task::yield_now().await;
    }
    assert!(tried.log().contains("too many wait"), "{}", tried.log());
    drop(taken);
    tried.server.behave(Manner::Takes);
    tried.outbox.finish().await;
    assert_eq!(tried.counted(), (3, 1, 0));
}

/// A mail server may take its time for the addresses that a team has chosen.
#[tokio::test]
async fn letters_of_one_team_to_typed_addresses_are_on_their_way_one_at_a_time() {
    let tried = Tried::new(Manner::Hangs, SHORT);
    let letters = Letters {
        origin: "https://a.example",
    };
    let team = Some(TeamId(Uuid::nil()));
    for number in 0..2 {
        let to = format!("bo{number}@b.example");
        let letter = letters.change_email(&to, "Bo", &Secret::from_text(LINK));
        let place = tried.outbox.reserve_for(team, letter.occasion);
        place.unwrap().send(letter);
    }
    tried.send("eve@b.example");
    while tried.server.attempts() < 2 {
        tokio::task::yield_now().await;
    }
    let inner = &tried.outbox.0;
    let free = [&inner.lines, &inner.more_lines].map(Semaphore::available_permits);
    assert_eq!(free, [LINES - 2, MORE_LINES]);
}

/// Strangers may ask for a letter to each member, and five teams of one person for letters to a server that hangs.
#[tokio::test]
async fn letters_of_a_team_to_stored_addresses_have_a_few_more_lines_whatever_five_others_have() {
    let tried = Tried::new(Manner::Hangs, SHORT);
    let send = |teams: std::ops::Range<u128>| {
        for team in teams {
            for number in 0..10 {
                let team = TeamId(Uuid::from_u128(team));
                tried.send_of(team, &format!("bo{number}@b.example"));
            }
        }
    };
    for (teams, on_their_way) in [(0..5, 5 * 4), (5..6, 6 * 4)] {
        send(teams);
        while tried.server.attempts() < on_their_way {
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(tried.server.attempts(), on_their_way);
    }
}

#[tokio::test]
async fn letters_of_one_team_that_are_tried_again_leave_a_line_to_others() {
    let tried = Tried::new(Manner::RefusesForNow, SHORT);
    let (team, other) = (TeamId(Uuid::nil()), TeamId(Uuid::max()));
    for team in [team, team, team, other] {
        tried.send_of(team, "bo@b.example");
    }
    let inner = &tried.outbox.0;
    while inner.again.available_permits() > PLACES as usize - 4 {
        tokio::task::yield_now().await;
    }
    tried.server.behave(Manner::Hangs);
    while inner.lines_of_again.available_permits() > LINES - 2 {
        tokio::task::yield_now().await;
    }
    for team in [team, other] {
        let on_its_way = inner
            .by
            .get((Some(team), false), || unreachable!("its letters wait"));
        assert_eq!(on_its_way.line.available_permits(), 0, "{team:?}");
    }
}

#[tokio::test]
async fn what_waits_when_the_server_stops_is_tried_once_more_at_once() {
    let tried = Tried::new(Manner::RefusesForNow, PATIENT);
    tried.send("bo@b.example");
    while !tried.log().contains("will be tried again") {
        tokio::task::yield_now().await;
    }
    tried.server.behave(Manner::Takes);
    tried.outbox.finish().await;
    assert_eq!(tried.counted(), (1, 0, 0));
    tried.outbox.reserve().map(drop).unwrap_err();
}

#[tokio::test]
async fn a_letter_that_hangs_when_the_server_stops_leaves_time_to_those_of_its_team() {
    let tried = Tried::new(Manner::Hangs, SHORT);
    let team = TeamId(Uuid::nil());
    tried.send_of(team, "bo@b.example");
    while tried.server.attempts() < 1 {
        tokio::task::yield_now().await;
    }
    tried.server.behave(Manner::Takes);
    tried.send_of(team, "eve@b.example");
    tried.outbox.finish().await;
    assert_eq!(tried.counted(), (2, 0, 0));
}

#[tokio::test]
async fn what_is_left_when_the_server_stops_is_counted_as_failed() {
    let times = Times {
        last_chance: Duration::from_millis(50),
        ..SHORT
    };
    let tried = Tried::new(Manner::Hangs, times);
    tried.send("bo@b.example");
    tried.send("eve@b.example");
    tried.outbox.finish().await;
    assert_eq!(tried.counted().1, 2);
    assert!(tried.log().contains("letters: 2"), "{}", tried.log());
}

/// What the server says repeats the address.
#[tokio::test]
async fn the_log_has_neither_an_address_nor_a_link() {
    for manner in [
        Manner::RefusesForGood,
        Manner::RefusesForNow,
        Manner::Drops,
        Manner::Takes,
    ] {
        let times = Times {
            patience: Duration::from_millis(20),
            ..SHORT
        };
        let tried = Tried::new(manner, times);
        tried.send("bo@b.example");
        tried.settled().await;
        let log = tried.log();
        assert!(log.contains("occasion: reset"), "{log}");
        for secret in ["bo@", "secret", "http"] {
            assert!(!log.contains(secret), "{manner:?}: {log}");
        }
    }
}

#[tokio::test]
async fn a_letter_to_what_is_no_address_is_a_failure_that_is_told() {
    let tried = Tried::new(Manner::Takes, SHORT);
    tried.send("bo@b.example\r\nRCPT TO:<eve@b.example>");
    tried.settled().await;
    assert_eq!(tried.counted(), (0, 1, 0));
    assert!(!tried.log().contains("eve"), "{}", tried.log());
}

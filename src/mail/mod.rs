//! Mail: letters ([`crate::domain::letter`]) are handed to a mail server over SMTP.
//!
//! 1. No request waits for a mail server. One that is about to promise a letter takes a [`Place`] first, of which there is a
//!    fixed number; if none is free, it is refused (503) before anything has changed. A letter has its place until it has
//!    been tried once, so what strangers ask for takes bounded memory.
//! 2. Each letter is of a team: a letter to a user, of the oldest that the user is in. (A person may have any number of
//!    accounts, but only the operator makes teams.) A few letters at a time are on their way, on a connection each, and of
//!    each team two: one to an address that somebody has typed, and one to an address that is stored. A mail server may take
//!    its time for the addresses of one of them. One that hangs is given up after half a minute. More connections are for
//!    letters to stored addresses, a few of each team: strangers may ask for a letter to each member. Some places are for all,
//!    and of the rest each team has a share.
//! 3. A letter that is not accepted is tried again, after longer and longer pauses, for half an hour: most servers that
//!    refuse for now mean a few minutes, and most of what a letter says is valid for an hour. One refused for good (5xx) is
//!    not. Letters that wait for another try have places and connections of their own: a caller may have many sent to
//!    addresses whose server accepts none, which must hold up no other letter. If there is no such place, of which a team has
//!    its share, too, the letter is given up.
//! 4. When the server stops, what waits is tried once more at once, for four seconds each and ten in total. What is left is
//!    counted as failed.
//! 5. The log says what became of each letter: why it was written, the server's code, and never an address, a link or what a
//!    mail server says, which may repeat both.
//!
//! Letters are kept in memory alone, and not in the database. They have the secrets of links, of which the database has the
//! SHA-256 (docs/decisions.md, P34), and what a crash loses can be asked for again: a person who waits for a letter notices
//! that it does not come. So each replica sends its own, and none has to find out what others have sent.

mod bounded;
mod message;
mod shares;
mod transport;

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use lettre::message::Mailbox;
use lettre::{Address, Message};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use slog::{Logger, error, info, o, warn};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::domain::Error;
use crate::domain::id::TeamId;
use crate::domain::letter::{Letter, Occasion};
use crate::settings::{MailSettings, Origin};
use crate::weak_map::WeakMap;
use shares::{FOR_ALL, OfTeam, PLACES, Share};
use transport::{Failed, Transport};

/// How many are on their way at once for the first time, and how many again: for fourteen of such a person, and for others.
const LINES: usize = 16;

/// How many more may be on their way for the first time to addresses that are stored: for six teams. With the others, that
/// is as many connections as Postfix takes of one client.
const MORE_LINES: usize = 18;

/// How long things take at most; tests have less time.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// How long a letter is on its way.
    attempt: Duration,
    /// How long a letter is tried.
    patience: Duration,
    /// The first pause, and the longest; each is twice as long as the one before.
    pauses: (Duration, Duration),
    /// How long letters are still tried when the server stops, and each of them.
    last_chance: Duration,
    last_attempt: Duration,
}

const TIMES: Times = Times {
    attempt: Duration::from_secs(30),
    patience: Duration::from_secs(30 * 60),
    pauses: (Duration::from_secs(5), Duration::from_secs(5 * 60)),
    last_chance: Duration::from_secs(10),
    last_attempt: Duration::from_secs(4),
};

/// What became of letters.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The mail server has accepted them.
    pub sent: Counter,
    /// They were given up.
    pub failed: Counter,
    /// They are still tried.
    pub waiting: Gauge,
}

/// Where letters wait until a mail server has them.
#[derive(Clone)]
pub struct Outbox(Arc<Inner>);

struct Inner {
    transport: Transport,
    from: Mailbox,
    host: String,
    places: Arc<Semaphore>,
    /// Places of letters that are tried again.
    again: Arc<Semaphore>,
    /// Those of either that no team has as its own.
    for_all: Arc<Semaphore>,
    for_all_again: Arc<Semaphore>,
    lines: Semaphore,
    more_lines: Semaphore,
    /// For letters that are tried again, besides the others.
    lines_of_again: Semaphore,
    /// The teams that have some, and all users of no team; for each kind of address.
    by: WeakMap<(Option<TeamId>, bool), OfTeam>,
    times: Times,
    /// Whether the server stops.
    stopping: watch::Sender<bool>,
    counts: Counts,
    log: Logger,
}

/// What a letter that is on its way has, until dropped.
type Line<'a> = [Option<SemaphorePermit<'a>>; 2];

/// Room for a letter that is promised.
#[must_use = "a letter is written, or the place is given up"]
pub struct Place {
    outbox: Outbox,
    _permit: OwnedSemaphorePermit,
}

/// Room for a letter of a team.
#[must_use = "a letter is written, or the place is given up"]
pub struct PlaceOfTeam {
    place: Place,
    team: Arc<OfTeam>,
    share: Share,
}

impl Outbox {
    /// Returns the outbox of a server whose pages are at `origin`. The mail server need not answer yet.
    ///
    /// # Errors
    /// When the system's certificates cannot be read, as a text for the person who starts the program.
    pub fn new(
        settings: MailSettings<'_>,
        origin: &Origin,
        counts: Counts,
        log: &Logger,
    ) -> Result<Outbox, String> {
        Outbox::with_times(settings, origin, counts, log, TIMES)
    }

    fn with_times(
        settings: MailSettings<'_>,
        origin: &Origin,
        counts: Counts,
        log: &Logger,
        times: Times,
    ) -> Result<Outbox, String> {
        let transport = Transport::new(settings.server, origin.host());
        Ok(Outbox(Arc::new(Inner {
            transport: transport?,
            times,
            from: settings.from.mailbox().clone(),
            host: origin.host().to_owned(),
            places: Arc::new(Semaphore::new(PLACES as usize)),
            again: Arc::new(Semaphore::new(PLACES as usize)),
            for_all: Arc::new(Semaphore::new(FOR_ALL)),
            for_all_again: Arc::new(Semaphore::new(FOR_ALL)),
            lines: Semaphore::new(LINES),
            more_lines: Semaphore::new(MORE_LINES),
            lines_of_again: Semaphore::new(LINES),
            by: WeakMap::default(),
            stopping: watch::Sender::new(false),
            counts,
            log: log.new(o!()),
        })))
    }

    /// Reserves room for a letter of this team, or of all users of no team: steps 1 and 2.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when there is none.
    pub fn reserve_for(
        &self,
        team: Option<TeamId>,
        occasion: Occasion,
    ) -> Result<PlaceOfTeam, Error> {
        self.reserve()?.of(team, occasion)
    }

    /// Reserves room for a letter of which it is not known yet whose it is: step 1.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when there is none.
    pub fn reserve(&self) -> Result<Place, Error> {
        let permit = Arc::clone(&self.0.places).try_acquire_owned();
        Ok(Place {
            _permit: permit.map_err(Error::unavailable)?,
            outbox: self.clone(),
        })
    }

    /// Records that there will be no letter, though one was promised.
    pub fn fail(&self, occasion: Occasion, why: impl Display) {
        self.0.given_up(occasion, why);
    }

    /// Step 4.
    pub async fn finish(&self) {
        let inner = &self.0;
        inner.stopping.send_replace(true);
        let all = async {
            // Letters that are tried again were promised before.
            _ = inner.places.acquire_many(PLACES).await;
            _ = inner.again.acquire_many(PLACES).await;
        };
        if timeout(inner.times.last_chance, all).await.is_err() {
            let free = inner.places.available_permits() + inner.again.available_permits();
            let left = 2 * u64::from(PLACES) - free as u64;
            inner.counts.failed.inc_by(left);
            error!(inner.log, "stopped with mail unsent"; "letters" => left);
        }
        // No more letters can be promised.
        inner.places.close();
    }
}

/// How long a mail server may take to let us in for a check.
const CHECKED_FOR: Duration = Duration::from_secs(10);

/// Checks that the mail server lets us in: connection, TLS, user and password. Nothing is sent.
///
/// # Errors
/// Why not, as a text without addresses and passwords.
pub(crate) async fn check(settings: MailSettings<'_>, origin: &Origin) -> Result<(), String> {
    let transport = Transport::new(settings.server, origin.host())?;
    match timeout(CHECKED_FOR, transport.check()).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err("it let us in, and did not answer then".to_owned()),
        Ok(Err(Failed::ForNow(why) | Failed::ForGood(why))) => Err(why),
        Err(_) => Err("it took too long".to_owned()),
    }
}

/// Refuses an address that no mail can be sent to.
///
/// # Errors
/// [`Error::Invalid`].
pub fn require_address(email: &str) -> Result<(), Error> {
    let parsed = email.parse::<Address>();
    let why = "is no address that mail can be sent to; write it like name@example.com";
    parsed.map(drop).map_err(|_| Error::invalid("email", why))
}

impl Place {
    /// Makes this the place of a letter of a team: step 2.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the team has as many as it may.
    pub fn of(self, team: Option<TeamId>, occasion: Occasion) -> Result<PlaceOfTeam, Error> {
        let inner = &self.outbox.0;
        let team = inner.by.get((team, occasion.is_typed()), OfTeam::default);
        let share = team.places.one_more(&inner.for_all);
        Ok(PlaceOfTeam {
            share: share.ok_or_else(|| Error::unavailable("too many letters of the team wait"))?,
            place: self,
            team,
        })
    }
}

impl PlaceOfTeam {
    /// Sends a letter, and does not wait for it.
    pub fn send(self, letter: Letter) {
        let inner = Arc::clone(&self.place.outbox.0);
        let occasion = letter.occasion;
        match message::message(letter, &inner.from, &inner.host) {
            Ok(message) => {
                inner.counts.waiting.inc();
                tokio::spawn(async move {
                    inner.deliver(occasion, &message, self).await;
                    inner.counts.waiting.dec();
                });
            }
            // It may repeat the address.
            Err(_) => inner.given_up(occasion, "no mail can be sent to the address"),
        }
    }
}

impl Inner {
    /// Steps 2 and 3.
    async fn deliver(&self, occasion: Occasion, message: &Message, place: PlaceOfTeam) {
        let PlaceOfTeam { place, team, share } = place;
        let deadline = Instant::now() + self.times.patience;
        let is_last = *self.stopping.borrow();
        let line = async {
            tokio::select! {
                biased;
                line = self.line([&team.line, &self.lines]) => line,
                more = self.line([&team.more_lines, &self.more_lines]), if !occasion.is_typed() => more,
            }
        };
        let mut tried = self.attempt(line, message, deadline).await;
        let mut attempts = 1;
        if let Err(Failed::ForNow(why)) = &tried
            && !is_last
        {
            let again = Arc::clone(&self.again).try_acquire_owned().ok();
            match again.zip(team.again.one_more(&self.for_all_again)) {
                Some(_place_among_those) => {
                    drop((place, share));
                    warn!(
                        self.log, "mail could not be sent and will be tried again";
                        "occasion" => %occasion, "error" => why
                    );
                    (attempts, tried) = self.try_again(message, &team.line, deadline).await;
                }
                None => tried = Err(Failed::ForGood(format!("{why}; too many wait"))),
            }
        }
        match tried {
            Ok(()) => {
                self.counts.sent.inc();
                info!(self.log, "mail sent"; "occasion" => %occasion, "attempt" => attempts);
            }
            Err(Failed::ForNow(why) | Failed::ForGood(why)) => self.given_up(occasion, why),
        }
    }

    /// Step 3: tries until it is sent, refused for good, or its time is over. Returns how many attempts there were.
    async fn try_again(
        &self,
        message: &Message,
        of_team: &Semaphore,
        deadline: Instant,
    ) -> (u32, Result<(), Failed>) {
        let mut stopping = self.stopping.subscribe();
        let (mut attempts, mut pause) = (1, self.times.pauses.0);
        loop {
            tokio::select! {
                () = sleep(pause) => {}
                // The sender lives as long as `self`.
                _ = stopping.wait_for(|it| *it) => {}
            }
            attempts += 1;
            pause = self.times.pauses.1.min(pause * 2);
            let is_stopping = *stopping.borrow();
            let lines = match is_stopping {
                true => [of_team, &self.lines],
                false => [of_team, &self.lines_of_again],
            };
            let is_last = is_stopping || deadline <= Instant::now() + pause;
            match self.attempt(self.line(lines), message, deadline).await {
                Err(Failed::ForNow(_)) if !is_last => {}
                tried => return (attempts, tried),
            }
        }
    }

    /// The team's own line, and one of all.
    async fn line<'a>(
        &self,
        [of_team, lines]: [&'a Semaphore; 2],
    ) -> Result<Line<'a>, AcquireError> {
        let (of_team, line) = (of_team.acquire().await?, lines.acquire().await?);
        Ok([Some(of_team), Some(line)])
    }

    /// Tries once.
    async fn attempt(
        &self,
        line: impl Future<Output = Result<Line<'_>, AcquireError>>,
        message: &Message,
        deadline: Instant,
    ) -> Result<(), Failed> {
        let line = timeout_at(deadline + self.times.attempt, line).await;
        let Ok(Ok(_line)) = line else {
            return Err(Failed::ForGood("others took too long".to_owned()));
        };
        let mut stopping = self.stopping.subscribe();
        let too_long = async {
            // The sender lives as long as `self`.
            let stops = async { drop(stopping.wait_for(|it| *it).await) };
            if timeout(self.times.attempt, stops).await.is_ok() {
                sleep(self.times.last_attempt).await;
            }
        };
        tokio::select! {
            biased;
            sent = self.transport.send(message) => sent,
            () = too_long => Err(Failed::ForNow("the mail server took too long".to_owned())),
        }
    }

    fn given_up(&self, occasion: Occasion, why: impl Display) {
        self.counts.failed.inc();
        error!(self.log, "mail was given up"; "occasion" => %occasion, "error" => %why);
    }
}

#[cfg(test)]
mod tests;

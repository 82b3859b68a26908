//! Buckets in one Redis, shared by all replicas.
//!
//! 1. A request is one round trip: a script (`take.lua`) reads the bucket and takes from it, by the clock of Redis, so that
//!    a replica whose clock is wrong cannot loosen a limit. The keys are `invoicing:limit:KIND:ID`; they name callers by id,
//!    and expire when their bucket is full.
//! 2. Redis has `DEADLINE` to answer. The first request that gets no answer cuts the connection: that is logged once, and
//!    from then on no request waits for Redis.
//! 3. Until then, every request is counted in memory, by the caller of [`Shared::take`].
//! 4. A task reconnects, a second later and then every second, and returns to Redis once it has answered within the
//!    deadline. A connection that was too slow once is never used again: its other end may be gone without notice.
//! 5. An answer that the script never gives (another type, a debt beyond a full bucket, noise) counts as none.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, RedisError, RedisResult, Script};
use rustls::crypto::aws_lc_rs;
use slog::{Logger, info, warn};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::bucket::{Policy, Verdict};
use super::counts::Counts;
use crate::settings::RedisUrl;

/// How long a request waits for Redis, which takes a fraction of a millisecond nearby.
pub(super) const DEADLINE: Duration = Duration::from_millis(50);

/// How long connecting may take, TLS handshake and password included.
const CONNECT_DEADLINE: Duration = Duration::from_secs(1);

/// The pause between two attempts to connect.
const PAUSE: Duration = Duration::from_secs(1);

/// Buckets in Redis, as long as it answers.
pub(crate) struct Shared {
    link: Arc<Link>,
    /// Step 4; dropping it ends the task.
    _keeper: JoinSet<()>,
}

impl Shared {
    /// Connects, and keeps reconnecting. Returns after the first attempt, however it ended.
    ///
    /// `deadline` is `DEADLINE`, except in tests, which a busy machine must not disturb.
    pub(crate) async fn start(
        redis: &RedisUrl,
        deadline: Duration,
        counts: Arc<Counts>,
        log: Logger,
    ) -> Self {
        // The client uses the TLS provider of the process; an error means that one is already installed.
        let _ = aws_lc_rs::default_provider().install_default();
        let link = Arc::new(Link {
            state: watch::Sender::new(State::New),
            deadline,
            script: script(),
            counts,
            log,
        });
        let mut state = link.state.subscribe();
        let mut keeper = JoinSet::new();
        keeper.spawn(Arc::clone(&link).keep(redis.clone()));
        // Cannot fail: `link` has the sender.
        let _ = state.wait_for(|state| !matches!(state, State::New)).await;
        Self {
            link,
            _keeper: keeper,
        }
    }

    /// Takes a token out of the bucket of `caller`, if there is one (step 1). `None` when Redis does not answer: then the
    /// caller of this function counts the request by other means.
    pub(crate) async fn take(
        &self,
        policy: Policy,
        kind: &str,
        caller: impl Display,
    ) -> Option<Verdict> {
        let State::Up(mut connection) = self.link.state.borrow().clone() else {
            return None; // step 3
        };
        let mut call = self
            .link
            .script
            .key(format!("invoicing:limit:{kind}:{caller}"));
        call.arg(policy.token()).arg(policy.fill());
        match within(
            self.link.deadline,
            call.invoke_async::<u64>(&mut connection),
        )
        .await
        .and_then(|debt| believable(debt, policy))
        {
            Ok(debt) => Some(policy.take(debt)),
            Err(error) => {
                self.link.cut(&error);
                None
            }
        }
    }
}

/// The connection, and what is needed to use it and to report on it.
struct Link {
    state: watch::Sender<State>,
    deadline: Duration,
    script: Script,
    counts: Arc<Counts>,
    log: Logger,
}

#[derive(Clone)]
enum State {
    /// Nothing has been tried.
    New,
    /// Redis answered the last request.
    Up(MultiplexedConnection),
    /// It did not.
    Down,
}

impl Link {
    /// Step 4.
    async fn keep(self: Arc<Self>, redis: RedisUrl) {
        let mut state = self.state.subscribe();
        loop {
            match connect(&redis, &self.script, self.deadline).await {
                Ok(connection) => {
                    info!(self.log, "rate limits hold across replicas, in Redis");
                    self.counts.shares(true);
                    self.state.send_replace(State::Up(connection));
                    // Cannot fail: `self` has the sender.
                    let _ = state.wait_for(|state| matches!(state, State::Down)).await;
                }
                Err(error) => self.cut(&error),
            }
            sleep(PAUSE).await;
        }
    }

    /// Step 2: logs the loss if it is new.
    fn cut(&self, error: &RedisError) {
        let mut was_up = false;
        let news = self.state.send_if_modified(|state| {
            let news = !matches!(state, State::Down);
            was_up = matches!(state, State::Up(_));
            *state = State::Down;
            news
        });
        if news {
            // A connection that never answered was not lost.
            if was_up {
                self.counts.shares(false);
            }
            warn!(self.log, "Redis does not answer: until it does, this replica limits rates on its own"; "error" => %error);
        }
    }
}

/// Checks that Redis lets us in and runs the script, as a server needs it. Redis has a second to answer, for slow networks.
///
/// # Errors
/// Why not, as a text without a password.
pub(crate) async fn check(redis: &RedisUrl) -> Result<(), String> {
    let _ = aws_lc_rs::default_provider().install_default();
    let connected = connect(redis, &script(), CONNECT_DEADLINE).await;
    connected.map(drop).map_err(|error| error.to_string())
}

fn script() -> Script {
    Script::new(include_str!("take.lua"))
}

/// Connects to a Redis that runs the script, writes included, in time.
async fn connect(
    redis: &RedisUrl,
    script: &Script,
    deadline: Duration,
) -> RedisResult<MultiplexedConnection> {
    let client = Client::open(redis.connection_info())?;
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_DEADLINE))
        .set_response_timeout(Some(CONNECT_DEADLINE));
    let connection = client.get_multiplexed_async_connection_with_config(&config);
    let mut connection = within(CONNECT_DEADLINE, connection).await?;
    let mut probe = script.key("invoicing:limit:probe");
    probe.arg(1).arg(1);
    within(deadline, probe.invoke_async::<u64>(&mut connection)).await?;
    Ok(connection)
}

/// Step 5.
fn believable(debt: u64, policy: Policy) -> RedisResult<u64> {
    if debt > policy.fill() {
        let why = "more than the script ever answers";
        return Err((ErrorKind::UnexpectedReturnType, why).into());
    }
    Ok(debt)
}

/// The result of `work`, within the deadline. A missed deadline is an error of the connection.
async fn within<T>(
    deadline: Duration,
    work: impl Future<Output = RedisResult<T>>,
) -> RedisResult<T> {
    timeout(deadline, work).await.unwrap_or_else(|_| {
        let why = format!("no answer within {} ms", deadline.as_millis());
        Err(RedisError::from(std::io::Error::new(
            std::io::ErrorKind::TimedOut,
            why,
        )))
    })
}

#[cfg(test)]
mod tests;

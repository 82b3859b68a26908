//! How PostgreSQL runs a script: with those of others, in a group of changes or a batch of lookups, or by itself. What failed
//! with others runs again by itself.

use std::ops::ControlFlow;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::subject::Subject;
use crate::postgres::retry::{Attempts, require_time};
use crate::postgres::{Access, Lookups, Postgres, ToBlame, WentAlone};
use crate::sql::ScriptError;
use crate::store::sql::{Batch, Sql};

/// In how many groups a change has its turn that were undone for the sake of others. Alone, each change of a group takes a
/// connection for as long as the group would.
const GROUPS: usize = 3;

/// Runs a change in a group, or alone if the group is undone for its sake, or too many are.
pub(super) async fn in_group<T>(
    postgres: &Postgres,
    holder: Holder,
    subjects: Vec<Subject>,
    script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError>,
) -> Result<T, Error> {
    let mut attempts = postgres.attempts();
    let deadline = attempts.deadline();
    let (mut first_undone, mut undone, mut to_blame) = (None, Instant::now(), ToBlame::No);
    for _ in 0..GROUPS {
        if !postgres.takes_into_groups(holder) {
            break;
        }
        let mut has_seat = false;
        let attempt = async {
            let seat = postgres.seat(holder, subjects.clone(), deadline).await?;
            has_seat = true;
            let result = script(Sql::Postgres(seat.handle())).await;
            let answer;
            (answer, to_blame) = seat.end(result).await;
            undone = Instant::now();
            answer
        };
        if let ControlFlow::Break(answer) = attempts.next(attempt).await {
            if let Some(undone) = first_undone {
                postgres.went_again(undone);
            }
            return answer;
        }
        first_undone = first_undone.or(Some(undone));
        if !has_seat || to_blame != ToBlame::No {
            break;
        }
    }
    let (answer, took) = alone(postgres, attempts, Access::Changing, holder, script).await;
    let Some(first_undone) = first_undone else {
        return answer;
    };
    // For want of a connection is no fault of its own.
    let was_answered = !matches!(answer, Err(Error::Unavailable(_)));
    let how = WentAlone {
        undone,
        is_suspect: to_blame == ToBlame::Perhaps,
        was_answered,
        was_refused: was_answered && answer.is_err(),
        took,
    };
    postgres.went_alone(holder, how);
    postgres.went_again(first_undone);
    answer
}

/// Runs a lookup: batched with others, or alone if it has to be or if the batch failed.
pub(super) async fn looked_up<B: Batch>(
    postgres: &Postgres,
    mut together: Option<&Lookups>,
    holder: Holder,
    query: B,
    rows: usize,
) -> Result<B::Out, Error> {
    let mut sent = Vec::new();
    query.send(&mut sent);
    let mut attempts = postgres.attempts();
    let answers = loop {
        together = together.filter(|_| !postgres.looks_up_alone(holder));
        let attempt = async {
            if let Some(lookups) = together.take() {
                return lookups.look_up(holder, &sent, rows).await;
            }
            let handle = postgres.handle(Access::Reading, holder, false).await?;
            let begun = Instant::now();
            let answers = handle.run(&sent).await;
            postgres.done_alone(Access::Reading, holder, begun);
            let answers = answers.and_then(|answers| answers.into_iter().collect());
            handle.end(answers).await
        };
        if let ControlFlow::Break(answers) = attempts.next(attempt).await {
            break answers?;
        }
    };
    drop(sent);
    let answers: Vec<_> = answers.into_iter().map(Ok).collect();
    let received = query.receive(&mut answers.into_iter());
    received.map_err(ScriptError::into_error)
}

/// Runs a script in a connection of its own.
pub(super) async fn by_itself<T>(
    postgres: &Postgres,
    access: Access,
    holder: Holder,
    script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError>,
) -> Result<T, Error> {
    let attempts = postgres.attempts().of(holder);
    let (answer, _) = alone(postgres, attempts, access, holder, script).await;
    answer
}

/// Runs a script in a transaction of its own, as many times as it has to be run. Also returns how long it ran in all, without
/// its commits: those take no locks, but may wait for a standby.
async fn alone<T>(
    postgres: &Postgres,
    mut attempts: Attempts,
    access: Access,
    holder: Holder,
    script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError>,
) -> (Result<T, Error>, Duration) {
    let mut took = Duration::ZERO;
    let (least_time, deadline) = (attempts.least_time(), attempts.deadline());
    loop {
        let met_lock = attempts.met_lock();
        let attempt = async {
            let handle = postgres.handle(access, holder, met_lock).await?;
            require_time(least_time, deadline)?;
            let begun = Instant::now();
            let result = script(Sql::Postgres(&handle)).await;
            took += begun.elapsed();
            if !met_lock && matches!(access, Access::Changing) {
                postgres.done_alone(access, holder, begun);
            }
            handle.end(result).await
        };
        if let ControlFlow::Break(answer) = attempts.next(attempt).await {
            return (answer, took);
        }
    }
}

//! Statements of several scripts, said as few.
//!
//! Most of what a small statement costs is that it is one: it is sent, planned, answered, and waited for by itself. So where
//! several scripts say the same statement at a time, of the same catalog, it is said once, in its form for many:
//!
//! 1. Each script keeps the order of what it says: what comes next can rely on what came before.
//! 2. What has a form for many joins the first statement that says the same of the same catalog, and is said behind what its
//!    script has said before. Where there is none, it is a statement of its own, behind all others. The first two values say
//!    which catalog that is; the others become lists.
//! 3. A row of the answer says in its last column whose it is: the third value. Nobody else sees it.

use std::collections::HashMap;
use std::iter::zip;
use std::sync::Arc;

use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::{Error as PostgresError, Row};

use super::checkout::Checkout;
use super::statements::{Rows, Sent};
use crate::domain::Error;
use crate::sql::ScriptError;
use crate::sql::encoded::{Encoded, RawColumn};
use crate::sql::value::Value;

/// How many values say of which catalog a statement is.
const CATALOG: usize = 2;

/// A statement with its values, kept for longer than whoever has said it.
pub(super) struct Kept {
    text: &'static str,
    many: &'static str,
    values: Vec<Encoded>,
}

/// What one script was answered to a statement.
pub(super) type Answer = Result<Rows, Failure>;

/// A statement has failed.
pub(super) struct Failure {
    /// What its script is told.
    pub(super) error: ScriptError,
    /// Whether it is the first of its transaction that has, as far as the server says.
    pub(super) is_first: bool,
    /// Whether it may go better through another connection.
    pub(super) may_be_the_connection: bool,
}

impl Kept {
    /// Keeps statements.
    ///
    /// # Errors
    /// [`Error::Internal`] when a value cannot be written.
    pub(super) fn all(sent: &[Sent<'_>]) -> Result<Vec<Kept>, Error> {
        let keep = |sent: &Sent<'_>| {
            let values = sent.values.iter().map(Encoded::of);
            Ok(Kept {
                text: sent.text,
                many: sent.many,
                values: values.collect::<Result<_, Error>>()?,
            })
        };
        sent.iter().map(keep).collect()
    }

    /// Whether it changes nothing.
    pub(super) fn is_query(&self) -> bool {
        self.text.starts_with("SELECT")
    }

    /// Of whom it is, among those of its catalog.
    fn key(&self) -> Option<&Encoded> {
        self.values.get(CATALOG)
    }
}

/// Runs what each of several scripts says. The answers to each come back, in its order.
///
/// # Errors
/// When nothing could be sent.
pub(super) async fn run(
    checkout: &Checkout,
    said: &[Vec<Kept>],
) -> Result<Vec<Vec<Answer>>, PostgresError> {
    let parties = parties(said);
    let lists: Vec<_> = parties.iter().map(Party::lists).collect();
    let values: Vec<_> = zip(&parties, &lists)
        .map(|(party, lists)| party.values(lists))
        .collect();
    let sent: Vec<_> = zip(&parties, &values)
        .map(|(party, values)| party.sent(values))
        .collect();
    let answers = checkout.run(&sent).await?;
    let mut told: Vec<Vec<Answer>> = said.iter().map(|_| Vec::new()).collect();
    for (party, answer) in zip(&parties, answers) {
        // In the order of what each has said: step 1.
        for (who, answer) in zip(&party.members, party.answers(answer)) {
            told[*who].push(answer);
        }
    }
    Ok(told)
}

/// Those who say one statement.
#[derive(Default)]
struct Party<'a> {
    members: Vec<usize>,
    said: Vec<&'a Kept>,
}

/// Steps 1 and 2.
fn parties(said: &[Vec<Kept>]) -> Vec<Party<'_>> {
    let mut parties: Vec<Party<'_>> = Vec::new();
    for (who, statements) in said.iter().enumerate() {
        // What the script has said before lies in front of this one.
        let mut next = 0;
        for kept in statements {
            let behind = &parties[next..];
            let joined = behind.iter().position(|party| party.takes(kept));
            let at = joined.map_or(parties.len(), |at| next + at);
            if at == parties.len() {
                parties.push(Party::default());
            }
            parties[at].members.push(who);
            parties[at].said.push(kept);
            next = at + 1;
        }
    }
    parties
}

impl<'a> Party<'a> {
    /// Whether it can say `kept`, too. Two may ask for one row, and no two change it.
    fn takes(&self, kept: &Kept) -> bool {
        let first = self.said[0];
        !kept.many.is_empty()
            && kept.many == first.many
            && kept.values[..CATALOG] == first.values[..CATALOG]
            && (kept.is_query() || self.said.iter().all(|said| said.key() != kept.key()))
    }

    /// The values that become lists.
    fn lists(&self) -> Vec<Vec<Value<'a>>> {
        let columns = CATALOG..self.said[0].values.len();
        let list = |column| {
            let values = self.said.iter();
            values
                .map(|said| Value::Encoded(&said.values[column]))
                .collect()
        };
        match self.said[..] {
            [_] => Vec::new(),
            _ => columns.map(list).collect(),
        }
    }

    fn values<'b>(&self, lists: &'b [Vec<Value<'a>>]) -> Vec<Value<'b>>
    where
        'a: 'b,
    {
        let values = self.said[0].values.iter().map(Value::Encoded);
        match self.said[..] {
            [_] => values.collect(),
            _ => {
                let lists = lists.iter().map(|list| Value::List(list));
                values.take(CATALOG).chain(lists).collect()
            }
        }
    }

    fn sent<'b>(&self, values: &'b [Value<'b>]) -> Sent<'b> {
        let Kept { text, many, .. } = self.said[0];
        let text = match self.said[..] {
            [_] => text,
            _ => many,
        };
        Sent { text, many, values }
    }

    /// What each is answered.
    fn answers(&self, answer: Result<Rows, PostgresError>) -> Vec<Answer> {
        let shared = || ScriptError::Retry("a statement that it shared has failed".into());
        let answer = answer.and_then(|rows| match self.said[..] {
            [_] => Ok(vec![rows]),
            _ => self.distribute(rows),
        });
        match answer {
            Ok(rows) => rows.into_iter().map(Ok).collect(),
            Err(error) => {
                let code = error.as_db_error().map(DbError::code);
                let is_first =
                    code.is_some_and(|code| *code != SqlState::IN_FAILED_SQL_TRANSACTION);
                let error = ScriptError::from(error);
                let may_be_the_connection = is_first && matches!(error, ScriptError::Retry(_));
                let errors = std::iter::once(error).chain(std::iter::repeat_with(shared));
                let failures = errors.map(|error| {
                    Err(Failure {
                        error,
                        is_first,
                        may_be_the_connection,
                    })
                });
                failures.take(self.said.len()).collect()
            }
        }
    }

    /// Step 3.
    fn distribute(&self, (rows, _): Rows) -> Result<Vec<Rows>, PostgresError> {
        let mut numbers: HashMap<Option<&[u8]>, usize> = HashMap::new();
        let number = |said: &&'a Kept| {
            let next = numbers.len();
            let key = said.key().and_then(Encoded::bytes);
            *numbers.entry(key).or_insert(next)
        };
        let each: Vec<_> = self.said.iter().map(number).collect();
        let mut found: Vec<Vec<Row>> = numbers.iter().map(|_| Vec::new()).collect();
        for row in Arc::into_inner(rows).unwrap_or_default() {
            let RawColumn(key) = row.try_get(row.len() - 1)?;
            if let Some(number) = numbers.get(&key) {
                found[*number].push(row);
            }
        }
        let found: Vec<Rows> = found
            .into_iter()
            .map(|rows| (rows.len() as u64, Arc::new(rows)))
            .map(|(count, rows)| (rows, count))
            .collect();
        Ok(each
            .into_iter()
            .map(|number| found[number].clone())
            .collect())
    }
}

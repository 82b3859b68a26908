//! Merges the statements of several scripts into few.
//!
//! Most of the cost of a small statement is that it is one: it is sent, planned, answered, and waited for by itself. So when
//! several scripts send the same statement at a time, it is sent once:
//!
//! 1. Each script's statements keep their order: what comes next can rely on what came before.
//! 2. A query joins the same query with the same values, and a statement that has a [form for many](Many) joins the same
//!    statement: the first that comes after the script's own previous one. If there is none, it goes alone, after all
//!    others. Two changes of one row are two statements.
//! 3. Scripts that ask the same get the same rows. In a form for many, the last columns of a row say whose it is, and no
//!    other script sees it.

use std::collections::HashMap;
use std::iter::zip;
use std::sync::Arc;

use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::{Error as PostgresError, Row};

use super::checkout::Checkout;
use super::statements::{Rows, Sent, is_query};
use crate::domain::Error;
use crate::sql::encoded::{Encoded, RawColumn};
use crate::sql::value::Value;
use crate::sql::{Many, ScriptError};

/// A statement with its values, kept for longer than its sender keeps them.
pub(super) struct Kept {
    text: &'static str,
    many: Option<Many>,
    values: Vec<Encoded>,
}

/// The answer to one script's statement.
pub(super) type Answer = Result<Rows, Failure>;

/// A failed statement.
pub(super) struct Failure {
    /// What its script gets.
    pub(super) error: ScriptError,
    /// Whether it is the first failure of its transaction, as far as the server says.
    pub(super) is_first: bool,
    /// Whether no script sent other values in the same statement, which may be what failed.
    pub(super) is_its_own: bool,
    /// Whether it may succeed through another connection.
    pub(super) may_be_the_connection: bool,
}

impl Kept {
    /// Encodes statements, to keep them.
    ///
    /// # Errors
    /// [`Error::Internal`] when a value cannot be encoded.
    pub(super) fn all(sent: &[Sent<'_>]) -> Result<Vec<Kept>, Error> {
        let keep = |sent: &Sent<'_>| {
            let values = sent.values.iter();
            let values = values.map(|value| Encoded::of(value, value.kind()));
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
        is_query(self.text)
    }

    /// The values that say whose rows it is about, in a form for many.
    fn key(&self) -> &[Encoded] {
        &self.values[..self.many.map_or(self.values.len(), |many| many.key)]
    }
}

/// Runs the statements of several scripts. Returns the answers for each, in its order.
///
/// # Errors
/// When nothing could be sent.
pub(super) async fn run(
    checkout: &Checkout,
    said: &[Vec<Kept>],
) -> Result<Vec<Vec<Answer>>, PostgresError> {
    let parties = parties(said);
    let columns: Vec<_> = parties.iter().map(Party::columns).collect();
    let values: Vec<_> = zip(&parties, &columns)
        .map(|(party, columns)| party.values(columns))
        .collect();
    let sent: Vec<_> = zip(&parties, &values)
        .map(|(party, values)| party.sent(values))
        .collect();
    let answers = checkout.run(&sent).await?;
    let mut told: Vec<Vec<Answer>> = said.iter().map(|_| Vec::new()).collect();
    for (party, answer) in zip(&parties, answers) {
        // In the order of each script's statements: step 1.
        for ((who, _), answer) in zip(&party.members, party.answers(answer)) {
            told[*who].push(answer);
        }
    }
    Ok(told)
}

/// The scripts that send one statement.
#[derive(Default)]
struct Party<'a> {
    /// What they send, without duplicates.
    said: Vec<&'a Kept>,
    /// Which of these has a [key](Kept::key).
    keys: HashMap<&'a [Encoded], usize>,
    /// Each script's number, and which of these it sends.
    members: Vec<(usize, usize)>,
}

/// Steps 1 and 2.
fn parties(said: &[Vec<Kept>]) -> Vec<Party<'_>> {
    let mut parties: Vec<Party<'_>> = Vec::new();
    for (who, statements) in said.iter().enumerate() {
        // The script's earlier statements come before this one.
        let mut next = 0;
        for kept in statements {
            let mut behind = parties.iter().enumerate().skip(next);
            let place = behind.find_map(|(at, party)| Some((at, party.place(kept)?)));
            let (at, which) = place.unwrap_or((parties.len(), 0));
            if at == parties.len() {
                parties.push(Party::default());
            }
            parties[at].take(who, kept, which);
            next = at + 1;
        }
    }
    parties
}

impl<'a> Party<'a> {
    /// The index in `said` that `kept` has or would get; `None` if it cannot join.
    fn place(&self, kept: &Kept) -> Option<usize> {
        self.said.first().filter(|first| first.text == kept.text)?;
        match self.keys.get(kept.key()) {
            Some(&at) => (kept.is_query() && self.said[at].values == kept.values).then_some(at),
            None => kept.many.map(|_| self.said.len()),
        }
    }

    fn take(&mut self, who: usize, kept: &'a Kept, which: usize) {
        if which == self.said.len() {
            self.said.push(kept);
            self.keys.insert(kept.key(), which);
        }
        self.members.push((who, which));
    }

    /// The form for many, if it is sent in that form.
    fn many(&self) -> Option<Many> {
        match self.said[..] {
            [_] => None,
            _ => self.said[0].many,
        }
    }

    /// The values for each placeholder.
    fn columns(&self) -> Vec<Vec<Value<'a>>> {
        let column = |at: usize| {
            let values = self.said.iter().map(|said| &said.values[at]);
            values.map(Value::Encoded).collect()
        };
        (0..self.said[0].values.len()).map(column).collect()
    }

    fn values<'b>(&self, columns: &'b [Vec<Value<'a>>]) -> Vec<Value<'b>>
    where
        'a: 'b,
    {
        let value = |column: &'b Vec<Value<'a>>| match self.many() {
            Some(_) => Value::List(column),
            None => column[0].clone(),
        };
        columns.iter().map(value).collect()
    }

    fn sent<'b>(&self, values: &'b [Value<'b>]) -> Sent<'b> {
        let Kept { text, many, .. } = *self.said[0];
        let text = self.many().map_or(text, |many| many.text);
        Sent { text, many, values }
    }

    /// The answer for each member.
    fn answers(&self, answer: Result<Rows, PostgresError>) -> Vec<Answer> {
        let answer = answer.and_then(|rows| match self.many() {
            Some(many) => self.distribute(many, rows),
            None => Ok(vec![rows]),
        });
        let each = self.members.iter();
        let error = match answer {
            Ok(rows) => return each.map(|(_, which)| Ok(rows[*which].clone())).collect(),
            Err(error) => error,
        };
        let code = error.as_db_error().map(DbError::code);
        let is_first = code.is_some_and(|code| *code != SqlState::IN_FAILED_SQL_TRANSACTION);
        let error = ScriptError::from(error);
        let is_its_own = self.said.len() == 1;
        let may_be_the_connection = is_first && matches!(error, ScriptError::Retry(_));
        let shared = || ScriptError::Retry("a statement that it shared has failed".into());
        let errors = std::iter::once(error).chain(std::iter::repeat_with(shared));
        let failure = |(error, _)| {
            Err(Failure {
                error,
                is_first,
                is_its_own,
                may_be_the_connection,
            })
        };
        zip(errors, each).map(failure).collect()
    }

    /// Step 3.
    fn distribute(&self, many: Many, (rows, _): Rows) -> Result<Vec<Rows>, PostgresError> {
        let keys = self.keys.iter();
        let keys: HashMap<Vec<_>, _> = keys
            .map(|(key, which)| (key.iter().map(Encoded::bytes).collect(), *which))
            .collect();
        let mut found: Vec<Vec<Row>> = self.said.iter().map(|_| Vec::new()).collect();
        for row in Arc::into_inner(rows).unwrap_or_default() {
            let key = (row.len() - many.key..row.len())
                .map(|at| Ok::<_, PostgresError>(row.try_get::<_, RawColumn<'_>>(at)?.0))
                .collect::<Result<Vec<_>, _>>()?;
            if let Some(which) = keys.get(&key) {
                found[*which].push(row);
            }
        }
        let rows = |rows: Vec<Row>| {
            let count = rows.len() as u64;
            (Arc::new(rows), count)
        };
        Ok(found.into_iter().map(rows).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::value::Bind;

    const FIND: &str = "SELECT one";
    const LIST: &str = "SELECT some";
    const WRITE: &str = "UPDATE one";

    /// A script's statements with their values. All but [`LIST`] have a form for many, and the first value says whose it is.
    fn script<const N: usize>(said: [(&'static str, [i64; 2]); N]) -> Vec<Kept> {
        let kept = said.map(|(text, values)| {
            let values = values.each_ref().map(Bind::value);
            let many = (text != LIST).then_some(Many {
                text: "many",
                key: 1,
            });
            let sent = Sent {
                text,
                many,
                values: &values,
            };
            Kept::all(&[sent]).unwrap()
        });
        kept.into_iter().flatten().collect()
    }

    /// The statements that result, each with the numbers of the scripts that send it.
    fn statements<const N: usize>(said: [Vec<Kept>; N]) -> Vec<(&'static str, Vec<usize>)> {
        let parties = parties(&said);
        let statement = |party: &Party<'_>| {
            let members = party.members.iter().map(|(who, _)| *who);
            (party.sent(&[]).text, members.collect())
        };
        parties.iter().map(statement).collect()
    }

    #[test]
    fn the_same_query_of_several_is_one() {
        let said = [(); 3].map(|()| script([(LIST, [1, 2]), (FIND, [1, 3])]));
        assert_eq!(
            statements(said),
            [(LIST, vec![0, 1, 2]), (FIND, vec![0, 1, 2])]
        );
        let said = [2, 3].map(|value| script([(LIST, [1, value])]));
        assert_eq!(statements(said), [(LIST, vec![0]), (LIST, vec![1])]);
    }

    #[test]
    fn a_form_for_many_says_nothing_of_one_key_that_differs() {
        let said = [[1, 1], [2, 1], [1, 2], [1, 1]].map(|values| script([(FIND, values)]));
        assert_eq!(statements(said), [("many", vec![0, 1, 3]), (FIND, vec![2])]);
    }

    #[test]
    fn two_changes_of_one_row_are_two_statements() {
        let said = [1, 2, 1].map(|row| script([(WRITE, [row, 1])]));
        assert_eq!(statements(said), [("many", vec![0, 1]), (WRITE, vec![2])]);
    }

    #[test]
    fn what_a_script_says_keeps_its_order() {
        let said = [
            script([(FIND, [1, 1]), (WRITE, [1, 1])]),
            script([(WRITE, [2, 1]), (FIND, [2, 1])]),
        ];
        assert_eq!(
            statements(said),
            [(FIND, vec![0]), ("many", vec![0, 1]), (FIND, vec![1])]
        );
    }
}

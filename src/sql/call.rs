//! Calls: a statement with its values, and what to make of its rows.

use super::script_error::ScriptError;
use super::statement::Statement;
use super::value::{Columns, Value};

/// A statement with its values, and what to make of its rows. Nothing has happened yet.
#[must_use = "nothing happens until a script runs it"]
#[derive(Debug)]
pub struct Call<'a, A, const N: usize> {
    /// The statement.
    pub statement: &'static Statement<N>,
    /// Its values.
    pub values: [Value<'a>; N],
    /// Collects its rows.
    pub collector: A,
}

/// Makes a result of the rows of a statement.
pub trait RowCollector {
    /// The result.
    type Out;

    /// Takes a row; returns whether to go on.
    ///
    /// # Errors
    /// When a value is of another type.
    fn row(&mut self, row: &mut Columns<'_>) -> Result<bool, ScriptError>;

    /// The result, after the last row. `changed` is how many rows the statement changed.
    fn end(self, changed: u64) -> Self::Out;
}

/// How many rows were changed.
#[derive(Debug)]
pub struct Changed;

/// Whether there was a row.
#[derive(Debug)]
pub struct Exists(bool);

/// The first row, if there was one.
#[derive(Debug)]
pub struct First<T, R>(Option<T>, R);

/// All rows.
#[derive(Debug)]
pub struct All<T, R>(Vec<T>, R);

impl RowCollector for Changed {
    type Out = u64;

    fn row(&mut self, _: &mut Columns<'_>) -> Result<bool, ScriptError> {
        Ok(true)
    }

    fn end(self, changed: u64) -> u64 {
        changed
    }
}

impl RowCollector for Exists {
    type Out = bool;

    fn row(&mut self, _: &mut Columns<'_>) -> Result<bool, ScriptError> {
        self.0 = true;
        Ok(false)
    }

    fn end(self, _: u64) -> bool {
        self.0
    }
}

impl<T, R: Fn(&mut Columns<'_>) -> Result<T, ScriptError>> RowCollector for First<T, R> {
    type Out = Option<T>;

    fn row(&mut self, row: &mut Columns<'_>) -> Result<bool, ScriptError> {
        self.0 = Some((self.1)(row)?);
        Ok(false)
    }

    fn end(self, _: u64) -> Option<T> {
        self.0
    }
}

impl<T, R: Fn(&mut Columns<'_>) -> Result<T, ScriptError>> RowCollector for All<T, R> {
    type Out = Vec<T>;

    fn row(&mut self, row: &mut Columns<'_>) -> Result<bool, ScriptError> {
        self.0.push((self.1)(row)?);
        Ok(true)
    }

    fn end(self, _: u64) -> Vec<T> {
        self.0
    }
}

impl<const N: usize> Statement<N> {
    /// The statement with its values.
    pub fn with<'a>(&'static self, values: [Value<'a>; N]) -> Call<'a, Changed, N> {
        Call::new(self, values)
    }
}

impl<'a, const N: usize> Call<'a, Changed, N> {
    fn new(statement: &'static Statement<N>, values: [Value<'a>; N]) -> Self {
        Call {
            statement,
            values,
            collector: Changed,
        }
    }

    /// Returns whether there is a row.
    pub fn exists(self) -> Call<'a, Exists, N> {
        self.collecting(Exists(false))
    }

    /// Returns the first row, if there is one.
    pub fn first<T, R: Fn(&mut Columns<'_>) -> Result<T, ScriptError>>(
        self,
        read: R,
    ) -> Call<'a, First<T, R>, N> {
        self.collecting(First(None, read))
    }

    /// Returns all rows.
    pub fn all<T, R: Fn(&mut Columns<'_>) -> Result<T, ScriptError>>(
        self,
        read: R,
    ) -> Call<'a, All<T, R>, N> {
        self.collecting(All(Vec::new(), read))
    }

    fn collecting<A>(self, collector: A) -> Call<'a, A, N> {
        Call {
            statement: self.statement,
            values: self.values,
            collector,
        }
    }
}

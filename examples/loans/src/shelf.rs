//! The library's loans: nothing here knows HTTP.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{Days, NaiveDate, Utc};
use uuid::Uuid;

use crate::api::types::{Isbn, Lend, Loan, Reader};

/// The default number of days for which a book is lent.
const USUAL_DAYS: u64 = 14;

/// The loans, by their ids.
#[derive(Debug, Default)]
pub struct Shelf(Mutex<BTreeMap<Uuid, Loan>>);

impl Shelf {
    /// Lends a book, unless it is already lent.
    pub fn lend(&self, wanted: Lend) -> Option<Loan> {
        let mut loans = self.loans();
        if loans.values().any(|it| same_book(&it.isbn, &wanted.isbn)) {
            return None;
        }
        let id = Uuid::new_v4();
        let days = wanted
            .days
            .map_or(USUAL_DAYS, |it| i32::from(it).unsigned_abs().into());
        let until = today() + Days::new(days);
        let loan = Loan {
            id: id.into(),
            isbn: wanted.isbn,
            reader: wanted.reader,
            until: until.into(),
        };
        loans.insert(id, loan.clone());
        Some(loan)
    }

    /// Returns the loans of a reader, or all, in the order in which they are due.
    pub fn of(&self, reader: Option<&Reader>) -> Vec<Loan> {
        let number = |it: &Reader| i32::from(it.clone());
        let mut loans: Vec<_> = self.loans().values().cloned().collect();
        loans.retain(|it| reader.is_none_or(|wanted| number(&it.reader) == number(wanted)));
        loans.sort_by_key(|it| it.until.0);
        loans
    }

    /// Ends a loan. Returns whether it existed.
    pub fn give_back(&self, id: Uuid) -> bool {
        self.loans().remove(&id).is_some()
    }

    fn loans(&self) -> MutexGuard<'_, BTreeMap<Uuid, Loan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn same_book(one: &Isbn, other: &Isbn) -> bool {
    one.as_str() == other.as_str()
}

fn today() -> NaiveDate {
    Utc::now().date_naive()
}

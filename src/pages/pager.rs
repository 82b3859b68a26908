//! Splits long lists into pages: the query names the entry after which a page starts, and each page leads to the next. One
//! entry more is read than is shown, which tells whether there is a next page.

use std::str::FromStr;

use super::failure::Failure;
use super::visit::Visit;
use crate::domain::list::Part;

/// How many entries a page has, so that it is not heavy even if a line of it is (W31).
const SIZE: u32 = 30;

/// Which part of a list a page shows, and where the others are.
pub(super) struct Pager {
    /// The page without a query, which has the first entries.
    path: String,
    /// The name of the query's parameter.
    name: &'static str,
    pub(super) is_first: bool,
    /// The last entry on this page, if there are more.
    last: Option<String>,
}

impl Pager {
    /// Returns the page that the query asks for, and what to read for it.
    ///
    /// # Errors
    /// [`Failure::NotFound`] if the query has something other than an id.
    pub(super) fn new<Id: FromStr>(
        visit: &Visit,
        path: String,
    ) -> Result<(Pager, Part<Id>), Failure> {
        Pager::named(visit, path, "after")
    }

    /// The same, for one of several lists on a page, with a parameter of that name.
    pub(super) fn named<Id: FromStr>(
        visit: &Visit,
        path: String,
        name: &'static str,
    ) -> Result<(Pager, Part<Id>), Failure> {
        let after = visit.query(name).map(|text| text.parse());
        let after = after.transpose().map_err(|_| Failure::NotFound)?;
        let pager = Pager {
            path,
            name,
            is_first: after.is_none(),
            last: None,
        };
        let limit = SIZE + 1;
        Ok((pager, Part { after, limit }))
    }

    /// Returns what this page shows of what was read.
    pub(super) fn page<T, Id: ToString>(
        &mut self,
        mut read: Vec<T>,
        id: impl Fn(&T) -> Id,
    ) -> Vec<T> {
        let shown = SIZE as usize;
        if read.len() > shown {
            read.truncate(shown);
            self.last = read.last().map(|it| id(it).to_string());
        }
        read
    }

    /// Returns where the first entries are, unless they are here.
    pub(super) fn first(&self) -> Option<&str> {
        (!self.is_first).then_some(&self.path)
    }

    /// Returns where the next entries are.
    pub(super) fn next(&self) -> Option<String> {
        let last = self.last.as_ref()?;
        Some(format!("{}?{}={last}", self.path, self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_full_leads_to_the_next_and_the_last_nowhere() {
        let mut pager = Pager {
            path: "/a".to_owned(),
            name: "after",
            is_first: false,
            last: None,
        };
        assert_eq!(pager.first(), Some("/a"));
        let all: Vec<u32> = (0..=SIZE).collect();
        let page = pager.page(all[1..].to_vec(), u32::clone);
        assert_eq!((page.len(), pager.next()), (SIZE as usize, None));
        let page = pager.page(all, u32::clone);
        assert_eq!(page.last(), Some(&(SIZE - 1)));
        assert_eq!(pager.next(), Some(format!("/a?after={}", SIZE - 1)));
    }
}

//! Decides whose body is checked next, so that nobody's bodies hold up everyone else.
//!
//! To check the worst of bodies takes some milliseconds, and a team may send two thousand in a second with its keys. tokio runs
//! tasks in the order in which they became ready, so all others would wait behind as many as arrived at once. So bodies that may
//! [take long](takes_long) are checked in turns, like lists ([`Turns`]): a task that waits is not ready, so none stands behind
//! it. What most callers send waits for nothing.

use openapi_dropshot_runtime::{Arrived, Rejection, Request, json};

use super::rejection::Error;
use super::turns::Turns;
use crate::domain::holder::Holder;

/// The fewest bytes of a body that may take long whatever is in it: a long number does.
const LARGE: usize = 8 * 1024;

/// So many of [these](is_mark) make a body take as long as the rest of its request.
const MANY_MARKS: usize = 400;

/// The turns in which bodies are checked.
#[derive(Debug)]
pub(super) struct Checks(Turns);

impl Default for Checks {
    fn default() -> Checks {
        Checks(Turns::leaving_a_core())
    }
}

impl Checks {
    /// Checks a request of `holder`, and returns it with what `note` makes of it. All addresses are one holder: an attacker may
    /// have many, and an app that has no session yet sends little.
    ///
    /// # Errors
    /// What is wrong with it; [`Error::Overloaded`] when too many wait.
    pub(super) async fn check<R: Request, T>(
        &self,
        holder: Holder,
        arrived: Arrived<R>,
        note: impl FnOnce(&R, &json::Value<'_>) -> T,
    ) -> Result<(R, T), Rejection<Error>> {
        let holder = match holder {
            Holder::Address(_) => Holder::Strangers,
            known => known,
        };
        let _turn = match takes_long(arrived.body()) {
            true => Some(self.0.take(holder).await.map_err(Rejection::Error)?),
            false => None,
        };
        Ok(arrived.check_noting(note)?)
    }
}

/// Whether to check this body may take longer than the rest of its request.
fn takes_long(body: &[u8]) -> bool {
    body.len() >= LARGE || body.iter().filter(|it| is_mark(**it)).count() >= MANY_MARKS
}

/// Whether a value or a member begins or ends with it.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'"' | b',' | b'{' | b'[')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_body_and_one_of_many_parts_take_long_and_a_product_with_a_long_text_does_not() {
        let product =
            |text: &str| format!(r#"{{"name": "A", "unitPrice": 1, "description": "{text}"}}"#);
        assert!(!takes_long(product(&"漢".repeat(2_000)).as_bytes()));
        assert!(!takes_long(product(&"for you, ".repeat(200)).as_bytes()));
        assert!(!takes_long(product(&r"\u6f22".repeat(1_300)).as_bytes()));
        assert!(takes_long(product(&"x".repeat(LARGE)).as_bytes()));
        for many in [r#""a":0,"#, "[[", "{},", "0,"] {
            assert!(takes_long(many.repeat(MANY_MARKS).as_bytes()), "{many}");
        }
    }
}

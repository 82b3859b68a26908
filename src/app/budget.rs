//! How many rows of all kinds together one step of a deletion may still delete. A step is one transaction, and others must
//! not wait for it long.

use crate::sql::ScriptError;
use crate::store::{Batch, Sql};

/// What a step has left.
pub(super) struct Budget {
    limit: u32,
    left: u32,
}

impl Budget {
    pub(super) fn of(limit: u32) -> Budget {
        Budget { limit, left: limit }
    }

    /// Runs a deletion of at most the rows that are left. `delete` makes its statement from that limit.
    pub(super) async fn spend<B: Batch<Out = u64>>(
        &mut self,
        sql: Sql<'_>,
        delete: impl FnOnce(u32) -> B,
    ) -> Result<(), ScriptError> {
        self.spend_by(async |rows| sql.run(delete(rows)).await)
            .await
    }

    /// Like [`spend`](Budget::spend), for a deletion of more than one statement.
    pub(super) async fn spend_by(
        &mut self,
        delete: impl AsyncFnOnce(u32) -> Result<u64, ScriptError>,
    ) -> Result<(), ScriptError> {
        let deleted = delete(self.left).await?;
        // At most `left`, the limit it was given.
        self.take(deleted as u32);
        Ok(())
    }

    /// Takes off rows that were deleted.
    fn take(&mut self, deleted: u32) {
        self.left = self.left.saturating_sub(deleted);
    }

    /// How many rows may still be deleted.
    pub(super) fn left(&self) -> u32 {
        self.left
    }

    /// How many rows have been deleted so far.
    pub(super) fn spent(&self) -> u64 {
        (self.limit - self.left).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_deletes_so_many_rows_of_all_kinds_together() {
        let mut left = Budget::of(10);
        assert_eq!((left.left(), left.spent()), (10, 0));
        left.take(4);
        assert_eq!((left.left(), left.spent()), (6, 4));
        left.take(1);
        assert_eq!((left.left(), left.spent()), (5, 5));
    }
}

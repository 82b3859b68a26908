//! Copies a database for a backup or for a restore.

use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::error::BackupError;
use super::watch::Watch;
use crate::store::Address;
use crate::store::copy::{self, Progress, copy};

/// A copy that is complete and verified, but not visible yet.
pub(super) struct Copied(pub(super) copy::Copied);

/// Copies everything from one database into another; for a thread for blocking work.
pub(super) fn copied(
    from: &Address,
    to: &Address,
    doing: &'static str,
    watch: &Watch,
) -> Result<Copied, BackupError> {
    let given_up = Notify::new();
    let mut show = |progress: Progress| {
        watch.show(doing, progress.rows, progress.total);
        if watch.is_stopped() {
            given_up.notify_one();
        }
    };
    Handle::current().block_on(async {
        tokio::select! {
            biased;
            () = given_up.notified() => Err(BackupError::Interrupted),
            copied = copy(from, to, &mut show) => Ok(Copied(copied?)),
        }
    })
}

impl Copied {
    /// Makes it visible.
    pub(super) fn commit(self) -> Result<(), BackupError> {
        Ok(Handle::current().block_on(self.0.commit())?)
    }
}

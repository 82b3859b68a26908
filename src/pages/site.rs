//! What all pages share.

use crate::settings::Origin;

/// What all pages share.
pub(super) struct Site {
    /// Where people reach them.
    pub(super) origin: Origin,
}

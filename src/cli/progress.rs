//! The progress of a long command.

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar on a terminal; hidden elsewhere.
pub(super) fn bar() -> ProgressBar {
    let template = "{msg:28} {wide_bar} {percent:>3} %, {eta} left";
    match ProgressStyle::with_template(template) {
        Ok(style) => ProgressBar::new(0).with_style(style),
        Err(_) => ProgressBar::hidden(),
    }
}

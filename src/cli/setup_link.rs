//! `invoicing setup-link`: lets the first user in.

use crate::app::App;

use super::command_error::CommandError;
use super::one_time_link;
use super::output::Output;

/// Prints a link for creating the first owner in a browser, with a password.
///
/// The link works once, within 24 hours, and only while there is no user; it replaces any earlier one. Anyone who has it
/// owns every team, so hand it over as you would a password.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Example:
    invoicing setup-link --origin https://invoices.example.com"#)]
pub(super) struct SetupLink {}

impl SetupLink {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        let origin = one_time_link::origin(app)?;
        let issued = app.create_set_up_link().await?;
        Ok(one_time_link::record(&issued, origin).into())
    }
}

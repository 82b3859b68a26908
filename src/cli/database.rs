//! The service on the database that the settings name.

use std::sync::Arc;

use super::command_error::CommandError;
use crate::app::App;
use crate::domain::time::SystemClock;
use crate::settings::Settings;
use crate::store;

/// The service on the database of the settings.
pub(super) async fn open(settings: &Settings) -> Result<App, CommandError> {
    let store = store::open(&settings.database)
        .await
        .map_err(|error| CommandError::Failed(error.to_string()))?;
    Ok(App::new(store, Arc::new(SystemClock), settings.public_url.as_str()).await?)
}

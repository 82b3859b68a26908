//! Opens the service on the database of the settings.

use std::sync::Arc;

use super::command_error::CommandError;
use crate::app::App;
use crate::backup::{self, Made, Order};
use crate::domain::time::{Clock as _, SystemClock};
use crate::settings::{Origin, Settings, Toggle};
use crate::store::{self, OpenError, Store};

/// Opens the service on the database of the settings, creating it if it does not exist. `backed_up` is called with the
/// backup of a file that is about to be upgraded.
pub(super) async fn open_or_make(
    settings: &Settings,
    backed_up: impl FnOnce(&Made),
) -> Result<App, CommandError> {
    back_up(settings, backed_up).await?;
    app(store::open(&settings.database).await, settings).await
}

/// As [`open_or_make`], for an existing database: a command in the wrong folder creates none.
pub(super) async fn open(
    settings: &Settings,
    backed_up: impl FnOnce(&Made),
) -> Result<App, CommandError> {
    back_up(settings, backed_up).await?;
    app(store::open_existing(&settings.database).await, settings).await
}

/// Backs up a file that is about to be upgraded. If the backup fails, the file is not upgraded.
async fn back_up(settings: &Settings, backed_up: impl FnOnce(&Made)) -> Result<(), CommandError> {
    if settings.backup_before_upgrade == Toggle::Off {
        return Ok(());
    }
    let order = order(settings);
    let made = tokio::task::spawn_blocking(move || backup::before_upgrade(&order)).await;
    let made = made.map_err(|failure| CommandError::Failed(failure.to_string()))?;
    let refused = |error| {
        CommandError::Failed(format!(
            "{error}. The database was not brought up to date, because there is no backup of it: see to that, make one \
             yourself and set backup_before_upgrade to off, or use the release before"
        ))
    };
    if let Some(made) = made.map_err(refused)? {
        backed_up(&made);
    }
    Ok(())
}

/// The settings of a backup.
pub(super) fn order(settings: &Settings) -> Order {
    Order {
        database: settings.database.clone(),
        recipients: settings.backup_recipients.clone(),
        now: SystemClock.now(),
        temporary_folder: None,
    }
}

async fn app(
    store: Result<Arc<Store>, OpenError>,
    settings: &Settings,
) -> Result<App, CommandError> {
    let store = store.map_err(|error| CommandError::Failed(error.to_string()))?;
    let app = App::new(store, Arc::new(SystemClock), settings.public_url.as_str()).await?;
    let origin = settings.origin().filter(Origin::may_sign_in);
    let app = app.signing_in_by(settings.switched_on());
    let app = app.reached_at(origin.map(|it| it.to_string()));
    Ok(app.working_on(settings.max_concurrent_requests))
}

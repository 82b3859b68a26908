//! The service on the database that the settings name.

use std::sync::Arc;

use super::command_error::CommandError;
use crate::app::App;
use crate::domain::time::SystemClock;
use crate::settings::{Origin, Settings};
use crate::store::{self, OpenError, Store};

/// The service on the database of the settings, which is made if there is none.
pub(super) async fn open_or_make(settings: &Settings) -> Result<App, CommandError> {
    app(store::open(&settings.database).await, settings).await
}

/// The service on the database of the settings, which is there: a command in the wrong folder makes none.
pub(super) async fn open(settings: &Settings) -> Result<App, CommandError> {
    app(store::open_existing(&settings.database).await, settings).await
}

async fn app(
    store: Result<Arc<Store>, OpenError>,
    settings: &Settings,
) -> Result<App, CommandError> {
    let store = store.map_err(|error| CommandError::Failed(error.to_string()))?;
    let app = App::new(store, Arc::new(SystemClock), settings.public_url.as_str()).await?;
    let origin = settings.origin().filter(Origin::may_sign_in);
    let app = app.signing_in_by(settings.switched_on());
    Ok(app.reached_at(origin.map(|it| it.to_string())))
}

//! `/teams/{team}/products`: what a team sells, in two catalogs. All members read them, and all but viewers write.

mod export;
mod form;
mod import;
mod list;
mod shelf;

use std::sync::Arc;

use dropshot::ApiDescriptionRegisterError;

use super::site::Site;
use crate::http::Api;

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    list::register(api, site)?;
    export::register(api, site)?;
    form::register(api, site)?;
    import::register(api, site)
}

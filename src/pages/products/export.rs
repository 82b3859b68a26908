//! `/teams/{team}/products/export.csv`: a catalog as a file, however large (docs/decisions.md, W40).

use std::sync::Arc;

use dropshot::ApiDescriptionRegisterError;

use super::shelf::Shelf;
use crate::app::App;
use crate::domain::Error;
use crate::domain::catalog::Catalog;
use crate::domain::csv_file::Writer;
use crate::domain::id::ProductId;
use crate::domain::product::StatusFilter;
use crate::domain::product_csv::{cells, names};
use crate::http::Api;
use crate::pages::download::{Lines, PIECE, download};
use crate::pages::route::{Answer, Route, TeamPath};
use crate::pages::site::Site;
use crate::pages::visit::Visit;

/// The fewest products that are read at once, and the most: one may have twelve kilobytes of text, and most have a hundredth
/// of that. Where short ones are followed by long ones, a piece has three megabytes.
const FEWEST: usize = 10;
const MOST: usize = 250;

/// Adds it.
///
/// # Errors
/// When another endpoint has its path.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/teams/{team}/products/export.csv")
        .shows("export_products", export_products)?
        .and_no_more();
    Ok(())
}

async fn export_products(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let shelf = Shelf::of(&visit, &path.team).await?;
    let products = Products {
        app: Arc::clone(visit.app()),
        catalog: shelf.member.catalog,
        status: Shelf::status(&visit)?,
        last: None,
        page: FEWEST,
    };
    let team_id = shelf.member.catalog.team_id;
    download(
        &visit,
        team_id,
        "attachment; filename=\"products.csv\"",
        products,
    )
    .await
}

/// The products of a catalog, newest first.
struct Products {
    app: Arc<App>,
    catalog: Catalog,
    status: StatusFilter,
    /// The last one so far.
    last: Option<ProductId>,
    /// How many are read next: judging by those before, about as many as a piece takes.
    page: usize,
}

impl Lines for Products {
    async fn write_some(&mut self, file: &mut Writer<Vec<u8>>) -> Result<bool, Error> {
        if self.last.is_none() {
            file.line(names()).map_err(Error::internal)?;
        }
        let (catalog, status) = (self.catalog, self.status);
        let (asked, app) = (self.page, &self.app);
        let page = app.export_products(catalog, status, self.last, asked as u32);
        let page = page.await?;
        let mut bytes = 0;
        for product in &page {
            bytes += product.text_bytes();
            file.line(cells(product)).map_err(Error::internal)?;
        }
        self.last = page.last().map(|it| it.id);
        let each = bytes / page.len().max(1);
        self.page = (PIECE / each.max(1)).clamp(FEWEST, MOST);
        Ok(page.len() == asked)
    }
}

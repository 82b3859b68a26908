//! `/teams/{team}/products/export.csv`: a catalog as a file, however large (docs/decisions.md, W40).
//!
//! A page of products at a time is in memory: the next one is read when the browser has taken the one before.

use std::sync::Arc;

use bytes::Bytes;
use dropshot::ApiDescriptionRegisterError;
use futures::stream::{self, Stream};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, Response};

use super::shelf::Shelf;
use crate::app::App;
use crate::domain::Error;
use crate::domain::catalog::Catalog;
use crate::domain::id::ProductId;
use crate::domain::product::{Product, StatusFilter};
use crate::domain::product_csv::Writer;
use crate::http::{Api, Rest};
use crate::pages::failure::Failure;
use crate::pages::route::{Answer, Route, TeamPath};
use crate::pages::site::Site;
use crate::pages::visit::Visit;

/// Products that are read at once.
const PAGE: u32 = 500;

/// Adds it.
///
/// # Errors
/// When another endpoint has its path.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/teams/{team}/products/export.csv")
        .shows("export_products", export_products)?
        .and_no_more::<TeamPath>()
}

async fn export_products(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let shelf = Shelf::of(&visit, &path.team, visit.query("mode").as_deref()).await?;
    let status = visit.query("status");
    let status = status.map_or(Ok(StatusFilter::Active), |it| it.parse());
    let status = status.map_err(|_| Failure::NotFound)?;
    let export = Export {
        app: Arc::clone(&visit.context.context().app),
        catalog: shelf.member.catalog,
        status,
    };
    let products = export.page(None).await?;
    let mut answer = Response::new(export.first(&products)?);
    if let Some(last) = last_of_full(&products) {
        let rest = Rest::new(export.pages_after(last));
        answer.extensions_mut().insert(rest);
    }
    let headers = answer.headers_mut();
    let csv = HeaderValue::from_static("text/csv; charset=utf-8");
    headers.insert(CONTENT_TYPE, csv);
    let file = HeaderValue::from_static("attachment; filename=\"products.csv\"");
    headers.insert(CONTENT_DISPOSITION, file);
    Ok(answer)
}

/// What is exported.
struct Export {
    app: Arc<App>,
    catalog: Catalog,
    status: StatusFilter,
}

impl Export {
    async fn page(&self, after: Option<ProductId>) -> Result<Vec<Product>, Error> {
        let (catalog, status) = (self.catalog, self.status);
        self.app.export_products(catalog, status, after, PAGE).await
    }

    /// The first page, with the names of the columns.
    fn first(&self, products: &[Product]) -> Result<Bytes, Error> {
        let writer = Writer::new(Vec::new()).map_err(Error::internal)?;
        written(writer, products)
    }

    /// The pages behind a product.
    fn pages_after(
        self,
        last: ProductId,
    ) -> impl Stream<Item = Result<Bytes, Error>> + Send + 'static {
        stream::try_unfold((self, Some(last)), async |(export, last)| {
            let Some(last) = last else {
                return Ok(None);
            };
            let products = export.page(Some(last)).await?;
            let next = last_of_full(&products);
            let bytes = written(Writer::going_on(Vec::new()), &products)?;
            Ok(Some((bytes, (export, next))))
        })
    }
}

/// The last product of a page behind which there may be more.
fn last_of_full(products: &[Product]) -> Option<ProductId> {
    let last = products.last().map(|it| it.id);
    last.filter(|_| products.len() == PAGE as usize)
}

fn written(mut writer: Writer<Vec<u8>>, products: &[Product]) -> Result<Bytes, Error> {
    for product in products {
        writer.write(product).map_err(Error::internal)?;
    }
    let bytes = writer.into_inner().map_err(Error::internal)?;
    Ok(bytes.into())
}

//! `/teams/{team}/products/export.csv`: a catalog as a file, however large (docs/decisions.md, W40).
//!
//! A few pages of products at a time are in memory: the next ones are read when the browser has taken those before.

use std::sync::Arc;

use bytes::Bytes;
use codegen_runtime::Rejection;
use dropshot::ApiDescriptionRegisterError;
use futures::stream::{self, Stream};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, Response};

use super::shelf::Shelf;
use crate::domain::Error;
use crate::domain::catalog::Catalog;
use crate::domain::id::ProductId;
use crate::domain::product::StatusFilter;
use crate::domain::product_csv::Writer;
use crate::http::Error::Overloaded;
use crate::http::{Api, BrokenOff, RequestContext, Rest, problem};
use crate::pages::route::{Answer, Route, TeamPath};
use crate::pages::site::{Site, Turn, Work};
use crate::pages::visit::Visit;

/// Products that are read at once: some milliseconds of reading in SQLite, which an async thread does itself.
const PAGE: u32 = 500;

/// The least bytes of a piece, but for the last: of smaller ones, the server could not tell that a peer takes none.
const PIECE: usize = 128 * 1024;

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
    let shelf = Shelf::of(&visit, &path.team).await?;
    let turn = visit.site.turn(shelf.member.user_id, Work::Download);
    let mut export = Export {
        context: Arc::clone(&visit.context),
        catalog: shelf.member.catalog,
        status: Shelf::status(&visit)?,
        at: At::Begin,
        _turn: turn.ok_or(Rejection::Error(Overloaded))?,
    };
    let mut answer = Response::new(export.piece().await?);
    if export.at != At::End {
        answer.extensions_mut().insert(Rest::new(export.pieces()));
    }
    let headers = answer.headers_mut();
    let csv = HeaderValue::from_static("text/csv; charset=utf-8");
    headers.insert(CONTENT_TYPE, csv);
    let file = HeaderValue::from_static("attachment; filename=\"products.csv\"");
    headers.insert(CONTENT_DISPOSITION, file);
    Ok(answer)
}

/// An export that is under way.
struct Export {
    context: Arc<RequestContext>,
    catalog: Catalog,
    status: StatusFilter,
    at: At,
    _turn: Turn,
}

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// The names of the columns come next.
    Begin,
    /// What follows this product.
    Behind(ProductId),
    /// All is written.
    End,
}

impl Export {
    /// What comes next; empty at the end.
    async fn piece(&mut self) -> Result<Bytes, Error> {
        let mut piece = Vec::new();
        while self.at != At::End && piece.len() < PIECE {
            let (mut writer, after) = match self.at {
                At::Behind(last) => (Writer::going_on(piece), Some(last)),
                _ => (Writer::new(piece).map_err(Error::internal)?, None),
            };
            let app = &self.context.context().app;
            let products = app.export_products(self.catalog, self.status, after, PAGE);
            let products = products.await?;
            for product in &products {
                writer.write(product).map_err(Error::internal)?;
            }
            piece = writer.into_inner().map_err(Error::internal)?;
            let last = products.last().filter(|_| products.len() == PAGE as usize);
            self.at = last.map_or(At::End, |last| At::Behind(last.id));
            // SQLite has read on this thread, and a peer that is quick never has it wait.
            tokio::task::yield_now().await;
        }
        Ok(piece.into())
    }

    /// All that comes next.
    fn pieces(self) -> impl Stream<Item = Result<Bytes, BrokenOff>> + Send + 'static {
        stream::try_unfold(self, async |mut export| match export.piece().await {
            Ok(piece) if piece.is_empty() => Ok(None),
            Ok(piece) => Ok(Some((piece, export))),
            Err(error) => {
                // It is written to the log there, as every failure is.
                problem(&export.context, error.into());
                Err(BrokenOff)
            }
        })
    }
}

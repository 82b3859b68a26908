//! `/account/export`: all that is stored about a user, for that user (docs/decisions.md, W12). It is made while it is sent,
//! as downloads are.

use std::sync::Arc;

use bytes::Bytes;
use dropshot::ApiDescriptionRegisterError;
use http::header::{self, HeaderValue};
use openapi_dropshot_runtime::Rejection;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::download::{Pieces, Reader, rest_of};
use super::failure::Failure;
use super::route::{Answer, NoVariables, Route};
use super::site::Site;
use super::visit::Visit;
use crate::admin::Shortage::Turns;
use crate::domain::Error;
use crate::http::Api;
use crate::http::Error::Overloaded;

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/account/export")
        .shows("export_account", export_account)?
        .and_no_more();
    Ok(())
}

async fn export_account(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let mut export = Export::begin(&visit)?;
    // If the export fails at once, the answer says so.
    let first = export.next().await?.unwrap_or_default();
    let mut answer = http::Response::new(first);
    let headers = answer.headers_mut();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    let file = HeaderValue::from_static("attachment; filename=\"account.json\"");
    headers.insert(header::CONTENT_DISPOSITION, file);
    answer.extensions_mut().insert(rest_of(&visit, export));
    Ok(answer)
}

/// All that is stored about a user, read by a task of its own while it is sent.
struct Export {
    reader: Reader,
    pieces: mpsc::Receiver<String>,
    telling: JoinHandle<Result<(), Error>>,
}

impl Export {
    fn begin(visit: &Arc<Visit>) -> Result<Export, Failure> {
        let reader = Reader::of(visit)?;
        let user_id = visit.user_id()?;
        let turn = visit.site.download(user_id);
        let mut turn = turn.ok_or(Rejection::Error(Overloaded(Turns)))?;
        let (to, pieces) = mpsc::channel(1);
        let visit = Arc::clone(visit);
        let telling = tokio::spawn(async move {
            visit.app().tell_of_user(user_id, to).await?;
            turn.is_done();
            Ok(())
        });
        Ok(Export {
            reader,
            pieces,
            telling,
        })
    }
}

impl Pieces for Export {
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match self.pieces.recv().await {
            Some(piece) => {
                // The piece was made before this check.
                self.reader.require_in_turn().await?;
                Ok(Some(piece.into()))
            }
            None => {
                (&mut self.telling).await.map_err(Error::internal)??;
                Ok(None)
            }
        }
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        // At once, not with the next piece: a user who breaks off may soon start again.
        self.telling.abort();
    }
}

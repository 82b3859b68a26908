//! Contender (a): hyper alone. It reads the request, finds its operation, and sends the recorded bytes.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use super::Prepared;
use crate::dataset::BoxError;
use crate::operation::Operation;
use crate::recording::Recording;

/// Serves until the process ends.
///
/// # Errors
/// When it cannot listen.
pub async fn serve(address: SocketAddr, recording: Recording) -> Result<(), BoxError> {
    let prepare = |(operation, recorded)| Ok((operation, Prepared::new(recorded, &[])?));
    let answers = recording.into_iter().map(prepare);
    let answers: Arc<HashMap<_, _>> = Arc::new(answers.collect::<Result<_, http::Error>>()?);
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answers = Arc::clone(&answers);
        let service = service_fn(move |request| answer(Arc::clone(&answers), request));
        tokio::spawn(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service),
        );
    }
}

async fn answer(
    answers: Arc<HashMap<Operation, Prepared>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let operation = operation(&head.method, head.uri.path(), head.uri.query());
    // A body that cannot be read to its end ends the connection; no client is left to answer.
    let _ = body.collect().await;
    let answer = operation.and_then(|operation| answers.get(&operation));
    Ok(answer.map_or_else(
        || {
            let mut response = Response::default();
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        },
        Prepared::response,
    ))
}

/// The operation of a request.
fn operation(method: &Method, path: &str, query: Option<&str>) -> Option<Operation> {
    if path == "/api/auth/mobile/token" {
        return Some(Operation::Refresh);
    }
    if path.starts_with("/api/mobile/items/") {
        return Some(Operation::Links);
    }
    let product = path.strip_prefix("/api/v1/products")?;
    match (method, product, query) {
        (&Method::GET, "", Some("limit=20")) => Some(Operation::List20),
        (&Method::GET, "", Some("limit=100")) => Some(Operation::List100),
        (&Method::POST, "", _) => Some(Operation::Create),
        (&Method::GET, _, _) => Some(Operation::Get),
        (&Method::PATCH, _, _) => Some(Operation::Patch),
        _ => None,
    }
}

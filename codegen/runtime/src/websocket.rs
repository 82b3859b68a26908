//! Connections that become websockets (RFC 6455).
//!
//! dropshot's own extractor would respond with 400 to a caller who has not yet been authenticated. So its
//! result is kept until the request is checked: the handler gets a [`Websocket`] with the checked
//! request, and responds with the [`Switching`] that [`Websocket::handle`] returns.

use dropshot::{
    Body, ExclusiveExtractor, HttpError, HttpResponse, RequestContext, ServerContext,
    WebsocketChannelResult, WebsocketConnection, WebsocketUpgrade,
};
use http::header::HeaderMap;
use http::request::Parts;

use crate::rejection::{Cause, RequestError};
use crate::violation::{Violation, constraint};

/// A request that asks for a websocket.
#[derive(Debug)]
pub struct Websocket(Result<WebsocketUpgrade, HttpError>);

/// The response that makes the connection a websocket.
#[derive(Clone, Debug)]
pub struct Switching(pub(crate) HeaderMap);

impl Websocket {
    /// Reads the head of a request through dropshot.
    pub(crate) async fn of<C: ServerContext>(
        context: &RequestContext<C>,
        head: &Parts,
    ) -> Websocket {
        let request = hyper::Request::from_parts(head.clone(), Body::empty());
        Websocket(WebsocketUpgrade::from_request(context, request).await)
    }

    /// Returns it, if the headers do ask for a websocket.
    ///
    /// # Errors
    /// What dropshot found wrong with them.
    pub(crate) fn checked(self) -> Result<Websocket, RequestError> {
        match self.0 {
            Err(error) => Err(RequestError {
                cause: Cause::Header,
                violations: Violation::new("", constraint::WEBSOCKET, error.external_message)
                    .into(),
            }),
            upgrade => Ok(Websocket(upgrade)),
        }
    }

    /// Passes the connection to `handler`, in a task of its own, once the response has been sent. Errors
    /// there are logged.
    ///
    /// # Errors
    /// An internal error: dropshot refuses what it made itself.
    pub fn handle<H, F>(self, handler: H) -> Result<Switching, RequestError>
    where
        H: FnOnce(WebsocketConnection) -> F + Send + 'static,
        F: Future<Output = WebsocketChannelResult> + Send + 'static,
    {
        let switching = self.0.and_then(|upgrade| upgrade.handle(handler));
        let answer = switching.and_then(HttpResponse::to_result);
        let answer = answer.map_err(|_| RequestError::internal())?;
        Ok(Switching(answer.into_parts().0.headers))
    }
}

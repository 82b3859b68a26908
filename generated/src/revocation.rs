//! Ending a session with one of its tokens (RFC 7009). This is not in any OpenAPI document, so it is written by hand, over
//! the same hooks.

use std::time::Duration;

use progenitor_client::{ClientHooks, ClientInfo, OperationInfo, ResponseValue};

use crate::client::Client;
use crate::error::Error;
use crate::inputs::Inputs;
use crate::response::Response;
use crate::retry::Repeat;
use crate::settings::call_settings;
use crate::types::ClientId;

/// A call that ends a session.
///
/// `Debug` never shows the token.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::start(|_| Reply::new(200));
/// # let client = invoicing_client::Client::builder(stub.url()).build()?;
/// let revocation = client.sessions().revoke("refresh-1", "mobile-app");
/// assert!(!format!("{revocation:?}").contains("refresh-1"));
/// revocation.send().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "nothing is sent before `send`"]
pub struct Revocation {
    pub(crate) client: Client,
    pub(crate) inputs: Inputs,
    pub(crate) token: String,
    pub(crate) client_id: Option<ClientId>,
}

impl std::fmt::Debug for Revocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Revocation")
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

impl Revocation {
    call_settings!("sessions().revoke(\"refresh-1\", \"mobile-app\")");

    /// Ends the session: both of its tokens stop working at once. A token that is unknown or has expired is not an error,
    /// since there is nothing left to end; so the call may be repeated, and is, according to its retry policy.
    ///
    /// # Errors
    /// [`Error::OAuth`], with [`OAuthCode::InvalidGrant`](crate::OAuthCode::InvalidGrant) for a token of another client and
    /// [`OAuthCode::InvalidClient`](crate::OAuthCode::InvalidClient) for a client that does not exist, and any other
    /// [`Error`] except [`Error::Api`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::start(|_| Reply::new(200));
    /// # let client = invoicing_client::Client::builder(stub.url()).build()?;
    /// client.sessions().revoke("refresh-1", "mobile-app").send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send(self) -> Result<(), Error> {
        self.send_for_response().await.map(drop)
    }

    /// Ends the session, and returns the headers.
    ///
    /// # Errors
    /// As for [`send`](Revocation::send).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::start(|_| Reply::new(200));
    /// # let client = invoicing_client::Client::builder(stub.url()).build()?;
    /// let call = client.sessions().revoke("refresh-1", "mobile-app");
    /// assert_eq!(call.send_for_response().await?.status(), 200);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_for_response(self) -> Result<Response<()>, Error> {
        type Failure = progenitor_client::Error<()>;
        let client_id = self.inputs.check(self.client_id)?;
        let mut mobile = self.client.mobile_with(None);
        // A repetition finds nothing left to end.
        mobile.inner.repeat = Repeat::Within(Duration::MAX);
        let form = [
            ("token", &self.token[..]),
            ("client_id", client_id.as_str()),
        ];
        let url = format!("{}/api/auth/mobile/revoke", mobile.baseurl());
        let request = mobile.client().post(url).form(&form).build();
        let mut request = request.map_err(Error::from_transport)?;
        let operation = OperationInfo {
            operation_id: "revoke_token",
        };
        mobile.pre::<()>(&mut request, &operation).await?;
        let answer = mobile.exec(request, &operation).await;
        mobile.post::<()>(&answer, &operation).await?;
        let answer = answer.map_err(Failure::from)?;
        let headers = answer.headers().clone();
        Ok(Response::from(ResponseValue::new(
            (),
            answer.status(),
            headers,
        )))
    }
}

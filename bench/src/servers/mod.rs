//! The contenders that are the bench's own servers, each a subcommand that runs until it is ended.

pub mod by_hand;
pub mod by_hand_api;
pub mod by_hand_postgres;
pub mod dropshot;
pub mod hyper;

use ::hyper::body::Bytes;
use http::{HeaderName, HeaderValue, StatusCode};

use crate::recording::Recorded;

/// A recorded answer, ready to be sent.
#[derive(Clone, Debug)]
struct Prepared {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
}

impl Prepared {
    /// Prepares an answer without the headers named in `but`.
    fn new(recorded: Recorded, but: &[&str]) -> Result<Self, http::Error> {
        let headers = recorded.headers.into_iter();
        let headers = headers.filter(|(name, _)| !but.contains(&name.as_str()));
        let headers = headers.map(|(name, value)| Ok((name.try_into()?, value.try_into()?)));
        Ok(Self {
            status: recorded.status.try_into()?,
            headers: headers.collect::<Result<_, http::Error>>()?,
            body: recorded.body.into(),
        })
    }

    /// The answer.
    fn response<B: From<Bytes>>(&self) -> http::Response<B> {
        let mut response = http::Response::new(B::from(self.body.clone()));
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.headers.iter().cloned());
        response
    }
}

//! Settings of calls: for the whole client, and for single calls that need something else.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::attempt::OnAttempt;
use crate::inputs::Inputs;
use crate::retry::RetryPolicy;

/// Cheap to clone: a call has its own copy, which its methods change.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) policy: Arc<RetryPolicy>,
    pub(crate) timeout: Option<Duration>,
    /// Headers that a program adds to every request; usually none, which takes no memory.
    pub(crate) headers: HeaderMap,
    pub(crate) on_attempt: Option<OnAttempt>,
}

/// The headers that this crate sends itself. Those that a program may choose have methods of their own.
const OWN: [&str; 7] = [
    "authorization",
    "content-length",
    "content-type",
    "host",
    "idempotency-key",
    "transfer-encoding",
    "x-team-id",
];

impl Settings {
    /// Adds a header, in place of one of the same name.
    pub(crate) fn header<K, V>(&mut self, inputs: &mut Inputs, name: K, value: V)
    where
        K: TryInto<HeaderName, Error: Display>,
        V: TryInto<HeaderValue, Error: Display>,
    {
        let name = inputs.take("header", name);
        let value = inputs.take("header", value);
        let Some((name, value)) = Option::<HeaderName>::zip(name, value) else {
            return;
        };
        if OWN.contains(&name.as_str()) {
            inputs.refuse(
                "header",
                format!("{name} is a header that the client sends itself"),
            );
        } else {
            self.headers.insert(name, value);
        }
    }
}

/// Methods that override for one call a setting of the whole client. `$call` is a call as the examples
/// make it, on a `client`.
macro_rules! call_settings {
    ($call:literal) => {
        /// Sets how long an attempt of this call may take, in place of the client's
        /// [`timeout`](crate::ClientBuilder::timeout). [`RetryPolicy::budget`](crate::RetryPolicy::budget)
        /// limits the call as a whole.
        ///
        /// ```
        /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
        /// let patience = std::time::Duration::from_secs(5);
        #[doc = concat!("let call = client.", $call, ".timeout(patience);")]
        /// ```
        pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
            self.client.settings.timeout = Some(timeout);
            self
        }

        /// Sets when this call is retried, in place of the client's
        /// [`retry`](crate::ClientBuilder::retry).
        ///
        /// ```
        /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
        /// use invoicing_client::RetryPolicy;
        ///
        #[doc = concat!("let call = client.", $call, ".retry(RetryPolicy::off());")]
        /// ```
        pub fn retry(mut self, policy: crate::RetryPolicy) -> Self {
            self.client.settings.policy = std::sync::Arc::new(policy);
            self
        }

        /// Adds a header of your own, such as one for a proxy or for tracing across services. Headers that
        /// the client sends itself are refused.
        ///
        /// ```
        /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
        #[doc = concat!("let call = client.", $call, ".header(\"traceparent\", \"00-4bf9...-01\");")]
        /// ```
        pub fn header<K, V>(mut self, name: K, value: V) -> Self
        where
            K: TryInto<reqwest::header::HeaderName, Error: std::fmt::Display>,
            V: TryInto<reqwest::header::HeaderValue, Error: std::fmt::Display>,
        {
            self.client.settings.header(&mut self.inputs, name, value);
            self
        }
    };
}
pub(crate) use call_settings;

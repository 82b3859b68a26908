//! The codes that tell one refusal from another, as enums to match on.
//!
//! The documents publish a code as a plain string, because new ones may be added without a new version of
//! the API. So each enum here has a variant for every code known when this crate was made, and `Unknown`
//! for the rest.

use std::fmt;

macro_rules! codes {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)*
            /// A code that this version of the crate does not know, as it was received.
            ///
            /// It becomes a variant of its own in a later version: compare
            /// [`as_str`](Self::as_str) where that would matter.
            Unknown(String),
        }

        impl $name {
            /// The code as it is sent.
            ///
            /// ```
            #[doc = concat!("use invoicing_client::", stringify!($name), ";")]
            ///
            #[doc = concat!("assert_eq!(", stringify!($name), "::from(\"any_code\").as_str(), \"any_code\");")]
            /// ```
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Unknown(code) => code,
                }
            }
        }

        impl From<&str> for $name {
            fn from(code: &str) -> Self {
                match code {
                    $($text => Self::$variant,)*
                    unknown => Self::Unknown(unknown.to_owned()),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

codes! {
    /// What an [`ApiError`](crate::ApiError) is about: `error.code`.
    ///
    /// ```
    /// use invoicing_client::Code;
    ///
    /// let code = Code::from("duplicate_sku");
    /// assert_eq!(code, Code::DuplicateSku);
    /// assert_eq!(code.as_str(), "duplicate_sku");
    /// assert_eq!(Code::from("from_the_future"), Code::Unknown("from_the_future".to_owned()));
    /// ```
    Code {
        /// 400: the body is not JSON or violates its schema; the details say where.
        InvalidBody = "invalid_body",
        /// 400: a query parameter is unknown, repeated or out of its schema, or a cursor is not valid here.
        InvalidQuery = "invalid_query",
        /// 400: a path parameter is out of its schema.
        InvalidPath = "invalid_path",
        /// 400: a header is missing or out of its schema.
        InvalidHeader = "invalid_header",
        /// 401: the credential is missing, malformed, unknown, expired or revoked.
        InvalidToken = "invalid_token",
        /// 403: a write with a `READ_ONLY` key.
        ScopeInsufficient = "scope_insufficient",
        /// 403: the user is no member of the team, or there is no such team.
        NotAMember = "not_a_member",
        /// 404: no such product in the team's catalog, in the key's mode.
        ProductNotFound = "product_not_found",
        /// 404: no such file or folder in the team.
        ItemNotFound = "item_not_found",
        /// 405: the path exists, the method does not.
        MethodNotAllowed = "method_not_allowed",
        /// 408: the body did not arrive in time.
        RequestTimeout = "request_timeout",
        /// 409: another active product has this sku.
        DuplicateSku = "duplicate_sku",
        /// 409: the product is archived already.
        AlreadyArchived = "already_archived",
        /// 409: the idempotency key was used for a different request.
        IdempotencyKeyReused = "idempotency_key_reused",
        /// 413: the body is larger than 64 KiB.
        BodyTooLarge = "body_too_large",
        /// 415: the body is not `application/json`.
        UnsupportedMediaType = "unsupported_media_type",
        /// 429: too many requests; `retry_after` says when to come back.
        RateLimitExceeded = "rate_limit_exceeded",
        /// 500: a bug of the service; report the request id.
        InternalError = "internal_error",
        /// 503: the service cannot answer in time; `retry_after` says when to come back.
        Unavailable = "unavailable",
    }
}

codes! {
    /// What an [`OAuthError`](crate::OAuthError) is about: `error` of RFC 6749, section 5.2.
    ///
    /// ```
    /// use invoicing_client::OAuthCode;
    ///
    /// assert_eq!(OAuthCode::from("invalid_grant"), OAuthCode::InvalidGrant);
    /// assert_eq!(OAuthCode::InvalidGrant.to_string(), "invalid_grant");
    /// ```
    OAuthCode {
        /// 400, 405, 408, 413, 415: the request is not one that the endpoint takes.
        InvalidRequest = "invalid_request",
        /// 400: the code or refresh token is unknown, expired, spent or not meant for this client.
        InvalidGrant = "invalid_grant",
        /// 400: there is no such client.
        InvalidClient = "invalid_client",
        /// 400: the client may not use this grant.
        UnauthorizedClient = "unauthorized_client",
        /// 400: `grant_type` is neither `authorization_code` nor `refresh_token`.
        UnsupportedGrantType = "unsupported_grant_type",
        /// 429: too many requests from this address; `retry_after` says when to come back.
        RateLimitExceeded = "rate_limit_exceeded",
        /// 500: a bug of the service; report the request id.
        ServerError = "server_error",
        /// 503: the service cannot answer in time; `retry_after` says when to come back.
        TemporarilyUnavailable = "temporarily_unavailable",
    }
}

//! The types of both documents in one place: what calls take and return.
//!
//! They are generated: their limits are those of the documents, checked when a value is made. Types
//! that both documents define alike (such as `ErrorDetail`) are the catalog's here; each document's own
//! are in [`openapi`](crate::openapi).
//!
//! ```
//! use invoicing_client::types::{Amount, CurrencyCode, Sku};
//!
//! assert_eq!(CurrencyCode::Eur.to_string(), "EUR");
//! assert_eq!(Sku::try_from("C-1").unwrap().as_str(), "C-1");
//! assert!(Sku::try_from("").is_err());
//! assert!(Amount::try_from("-1").is_err());
//! ```
//!
//! Those over text can be used as a `str`: they compare with it, deref to it, and can be looked up by
//! it as keys of a map.
//!
//! ```
//! use invoicing_client::types::{CurrencyCode, ProductName};
//!
//! let name = ProductName::try_from("Beans").unwrap();
//! assert!(name == "Beans" && name.starts_with('B'));
//! let text: &str = &name;
//! assert_eq!(CurrencyCode::ALL[0].as_str(), "AED");
//! ```

#[doc(inline)]
pub use crate::openapi::catalog::types::{
    Amount, CreateProduct, CurrencyCode, Cursor, ErrorDetail, ErrorType, IdempotencyKey,
    NextCursor, PageLimit, Product, ProductDescription, ProductId, ProductName, ProductPage,
    ProductStatus, ProductStatusFilter, ProductType, Sku, TaxRate, Timestamp, UnitOfMeasure,
    UpdateProduct,
};
#[doc(inline)]
pub use crate::openapi::mobile::types::{
    AccessToken, AuthorizationCode, AuthorizationCodeGrant, ClientId, CodeVerifier, InstallId,
    ItemId, RedirectUri, RefreshToken, RefreshTokenGrant, ShareLink, ShareLinkAudience,
    ShareLinkCreator, ShareLinkId, ShareLinkName, ShareLinkPage, ShareLinkPermissions,
    ShareLinkStatus, TargetType, TeamId, TokenRequest, TokenResponse, UserAgent, UserId,
};

impl TryFrom<NextCursor> for Cursor {
    type Error = <Cursor as TryFrom<String>>::Error;

    /// The page that a cursor leads to is requested with the same text.
    fn try_from(cursor: NextCursor) -> Result<Cursor, Self::Error> {
        Cursor::try_from(String::from(cursor))
    }
}

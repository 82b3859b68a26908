//! How the service's own types stand in a statement and in a row.

use std::error::Error as StdError;

use bytes::BytesMut;
use codegen_runtime::Decimal;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::sql::Param;
use crate::domain::api_key::{Mode, Scope};
use crate::domain::id::{
    ApiKeyId, FileId, FolderId, ProductId, SessionId, ShareLinkId, TeamId, UserId,
};
use crate::domain::item::ItemType;
use crate::domain::member::Role;
use crate::domain::oauth_client::ClientId;
use crate::domain::product::ProductStatus;
use crate::domain::secret::Digest;
use crate::domain::session::grace::Sealed;
use crate::domain::share_link::Audience;
use crate::domain::time::Timestamp;

type Answer<T> = Result<T, Box<dyn StdError + Sync + Send>>;

/// A value that is always sent as one type.
pub(super) trait Typed: ToSql + Sync {
    const TYPE: Type;
}

/// A parameter, for [`params!`].
pub(super) fn param<T: Typed>(value: &T) -> Param<'_> {
    (value, T::TYPE)
}

/// The parameters of a statement, from values of any type that is [`Typed`].
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::store::postgres::values::param(&$value)),*] };
}
pub(super) use params;

impl<T: Typed> Typed for &T {
    const TYPE: Type = T::TYPE;
}

impl<T: Typed> Typed for Option<T> {
    const TYPE: Type = T::TYPE;
}

macro_rules! sent_as_they_are {
    ($($kind:ty => $type:ident)+) => {$(
        impl Typed for $kind {
            const TYPE: Type = Type::$type;
        }
    )+};
}

sent_as_they_are! {
    &str => TEXT
    String => TEXT
    bool => BOOL
    i64 => INT8
    uuid::Uuid => UUID
    Vec<uuid::Uuid> => UUID_ARRAY
    Vec<i64> => INT8_ARRAY
    &[u8] => BYTEA
}

/// Types that are sent and read as another, which has the conversions.
macro_rules! stored_as {
    ($type:ident: $($name:ident as $kind:ty, $to:expr, $from:expr;)+) => {$(
        impl Typed for $name {
            const TYPE: Type = Type::$type;
        }

        impl ToSql for $name {
            fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Answer<IsNull> {
                let to: fn(&$name) -> _ = $to;
                to(self).to_sql(kind, out)
            }

            fn accepts(kind: &Type) -> bool {
                *kind == Type::$type
            }

            to_sql_checked!();
        }

        impl<'a> FromSql<'a> for $name {
            fn from_sql(kind: &Type, raw: &'a [u8]) -> Answer<$name> {
                let from: fn($kind) -> Answer<$name> = $from;
                from(<$kind>::from_sql(kind, raw)?)
            }

            fn accepts(kind: &Type) -> bool {
                *kind == Type::$type
            }
        }
    )+};
}

macro_rules! ids {
    ($($name:ident)+) => {
        stored_as! { UUID: $($name as uuid::Uuid, |id| id.0, |id| Ok($name(id));)+ }
    };
}

macro_rules! words {
    ($($name:ident)+) => {
        stored_as! { TEXT: $($name as &str, |word| word.as_str(), |word| Ok(word.parse()?);)+ }
    };
}

ids! { TeamId ApiKeyId ProductId UserId SessionId FolderId FileId ShareLinkId }
words! { Mode Scope ProductStatus Role ItemType Audience }
stored_as! { TEXT: ClientId as &str, |id| id.as_str().to_owned(), |id| Ok(ClientId::new(id)); }
stored_as! { INT8: Timestamp as i64, |time| time.as_millis(), |millis| Ok(Timestamp::from_millis(millis)); }
stored_as! { BYTEA:
    Digest as &[u8], |digest| digest.as_bytes().to_vec(), |bytes| Ok(Digest::from_bytes(bytes.try_into()?));
    Sealed as &[u8], |sealed| sealed.as_bytes().to_vec(), |bytes| Ok(Sealed::from_bytes(bytes.to_vec()));
}

/// A decimal as text, which a statement casts to and from `numeric`. PostgreSQL keeps the zeros at its end
/// and writes powers of ten out: `7.70` comes back as it is, `1e3` as `1000`.
pub(super) struct Exact(pub Decimal);

impl Exact {
    /// The text to send for a decimal: its literal, unless what PostgreSQL makes of that would be longer
    /// than a literal may be. Then the same value without the zeros that nobody needs.
    pub(super) fn text(decimal: &Decimal) -> String {
        let literal = decimal.as_str();
        match written_out(literal) <= Decimal::MAX_LENGTH {
            true => literal.to_owned(),
            false => decimal.canonical(),
        }
    }
}

/// The most characters that a literal has once its power of ten is written out.
fn written_out(literal: &str) -> usize {
    let exponent = literal.split(['e', 'E']).nth(1);
    let exponent = exponent.and_then(|text| text.parse::<i32>().ok());
    literal.len() + exponent.map_or(0, |exponent| exponent.unsigned_abs() as usize + 1)
}

impl<'a> FromSql<'a> for Exact {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Answer<Exact> {
        Ok(Exact(<&str>::from_sql(kind, raw)?.parse()?))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TEXT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_sent_as_it_was_written_unless_it_would_not_fit_when_read() {
        let sent = |literal: &str| Exact::text(&literal.parse().unwrap());
        for literal in ["0.10", "19.90", "1e-400", "1.5E+3", "-0.00"] {
            assert_eq!(sent(literal), literal);
        }
        let zeros = format!("1.{}e-400", "0".repeat(200));
        assert_eq!(sent(&zeros), "1e-400");
    }
}

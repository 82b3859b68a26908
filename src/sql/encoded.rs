//! Values encoded for PostgreSQL, kept for longer than the values they were made from.

use std::error::Error as StdError;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::domain::Error;

/// A value of a statement, in PostgreSQL's binary format.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Encoded {
    pub(super) kind: Type,
    bytes: Option<Box<[u8]>>,
}

impl Encoded {
    /// Encodes a value of this type.
    ///
    /// # Errors
    /// [`Error::Internal`] when it cannot be encoded: the format has no room for it.
    pub fn of(value: &impl ToSql, kind: Type) -> Result<Encoded, Error> {
        let mut out = BytesMut::new();
        let is_null = value.to_sql(&kind, &mut out).map_err(Error::Internal)?;
        let bytes = matches!(is_null, IsNull::No).then(|| Box::from(&out[..]));
        Ok(Encoded { kind, bytes })
    }

    /// Its bytes; `None` if it is null.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }
}

impl ToSql for Encoded {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        Ok(match &self.bytes {
            Some(bytes) => {
                out.put_slice(bytes);
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true // It is sent with its own type.
    }

    to_sql_checked!();
}

/// The bytes in a PostgreSQL column, whatever its type: [`Encoded::bytes`] of a value.
#[derive(Debug)]
pub struct RawColumn<'a>(pub Option<&'a [u8]>);

impl<'a> FromSql<'a> for RawColumn<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(RawColumn(Some(raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(RawColumn(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

//! How the types of the domain are represented in statements and rows, the same way for both engines.
//!
//! Ids are UUIDs, times are milliseconds since 1970, digests and sealed data are bytes, and the values of closed lists are
//! their texts. A decimal is written and read as the text of its literal, exactly: SQLite keeps that text; a statement casts
//! it to `numeric` for PostgreSQL, which keeps trailing zeros and writes out powers of ten (`7.70` comes back as it is,
//! `1e3` as `1000`).

use std::borrow::Cow;
use std::error::Error as StdError;

use bytes::BytesMut;
use openapi_dropshot_runtime::Decimal;
use rusqlite::types::{FromSqlError, ToSqlOutput, ValueRef};
use tokio_postgres::types::{IsNull, Type, to_sql_checked};
use uuid::Uuid;

use super::encoded::Encoded;
use super::script_error::ScriptError;
use crate::domain::api_key::Scope;
use crate::domain::audit::Action;
use crate::domain::auth_code::CodeChallenge;
use crate::domain::catalog::Mode;
use crate::domain::id::{
    ApiKeyId, AuditEventId, BrowserSessionId, FileId, FolderId, IdentityId, InvitationId,
    PasskeyId, ProductId, ProductImportId, SessionId, ShareLinkId, TeamId, UserId,
};
use crate::domain::item::ItemType;
use crate::domain::letter::Occasion;
use crate::domain::member::Role;
use crate::domain::oauth_client::ClientId;
use crate::domain::one_time_link::Purpose;
use crate::domain::product::ProductStatus;
use crate::domain::secret::{Digest, Secret};
use crate::domain::session::grace::Sealed;
use crate::domain::share_link::Audience;
use crate::domain::time::Timestamp;
use crate::domain::{Cause, Error};

/// A value of a statement. It has one type in PostgreSQL, even when it is null.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// A boolean.
    Boolean(Option<bool>),
    /// Bytes.
    Bytes(Option<Cow<'a, [u8]>>),
    /// A decimal, sent as text.
    Decimal(Option<&'a Decimal>),
    /// A number, or a time.
    Integer(Option<i64>),
    /// Text.
    Text(Option<Cow<'a, str>>),
    /// An id.
    Uuid(Option<Uuid>),
    /// Numbers, for PostgreSQL alone.
    Integers(&'a [i64]),
    /// Ids, for PostgreSQL alone.
    Uuids(&'a [Uuid]),
    /// One or more values of one type, for PostgreSQL alone.
    List(&'a [Value<'a>]),
    /// A value that is already encoded, for PostgreSQL alone.
    Encoded(&'a Encoded),
}

impl Value<'_> {
    /// How many values it has, if it is a list.
    pub fn length(&self) -> Option<usize> {
        match self {
            Value::Integers(numbers) => Some(numbers.len()),
            Value::Uuids(ids) => Some(ids.len()),
            Value::List(values) => Some(values.len()),
            _ => None,
        }
    }

    /// Its type in PostgreSQL.
    pub fn kind(&self) -> Type {
        match self {
            Value::Boolean(_) => Type::BOOL,
            Value::Bytes(_) => Type::BYTEA,
            Value::Decimal(_) | Value::Text(_) => Type::TEXT,
            Value::Integer(_) => Type::INT8,
            Value::Uuid(_) => Type::UUID,
            Value::Integers(_) => Type::INT8_ARRAY,
            Value::Uuids(_) => Type::UUID_ARRAY,
            Value::List(values) => match values.first().map(Value::kind) {
                Some(Type::BOOL) => Type::BOOL_ARRAY,
                Some(Type::BYTEA) => Type::BYTEA_ARRAY,
                Some(Type::INT8) => Type::INT8_ARRAY,
                Some(Type::UUID) => Type::UUID_ARRAY,
                _ => Type::TEXT_ARRAY,
            },
            Value::Encoded(encoded) => encoded.kind.clone(),
        }
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Value::Boolean(Some(value)) => ValueRef::Integer(i64::from(*value)),
            Value::Bytes(Some(bytes)) => ValueRef::Blob(bytes),
            Value::Decimal(Some(decimal)) => ValueRef::Text(decimal.as_str().as_bytes()),
            Value::Integer(Some(number)) => ValueRef::Integer(*number),
            Value::Text(Some(text)) => ValueRef::Text(text.as_bytes()),
            Value::Uuid(Some(id)) => ValueRef::Blob(id.as_bytes()),
            Value::Integers(_) | Value::Uuids(_) | Value::List(_) | Value::Encoded(_) => {
                return Err(rusqlite::Error::ToSqlConversionFailure(
                    "a value of PostgreSQL alone".into(),
                ));
            }
            _ => ValueRef::Null,
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

impl tokio_postgres::types::ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Value::Boolean(value) => value.to_sql(kind, out),
            Value::Bytes(bytes) => bytes.as_deref().to_sql(kind, out),
            Value::Decimal(decimal) => decimal.map(numeric_text).to_sql(kind, out),
            Value::Integer(number) => number.to_sql(kind, out),
            Value::Text(text) => text.as_deref().to_sql(kind, out),
            Value::Uuid(id) => id.to_sql(kind, out),
            Value::Integers(numbers) => numbers.to_sql(kind, out),
            Value::Uuids(ids) => ids.to_sql(kind, out),
            Value::List(values) => values.to_sql(kind, out),
            Value::Encoded(encoded) => encoded.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true // Each is sent with its own type.
    }

    to_sql_checked!();
}

/// The text of a decimal for PostgreSQL: its literal, unless PostgreSQL's text for it would be longer than a literal may be.
/// Then it is the same value without needless zeros.
pub(crate) fn numeric_text(decimal: &Decimal) -> Cow<'_, str> {
    let literal = decimal.as_str();
    match written_out(literal) <= Decimal::MAX_LENGTH {
        true => literal.into(),
        false => decimal.canonical().into(),
    }
}

/// The most characters that a literal has once its power of ten is written out.
fn written_out(literal: &str) -> usize {
    let exponent = literal.split(['e', 'E']).nth(1);
    let exponent = exponent.and_then(|text| text.parse::<i32>().ok());
    literal.len() + exponent.map_or(0, |exponent| exponent.unsigned_abs() as usize + 1)
}

/// A type that can be a value of a statement.
pub trait Bind<'a> {
    /// The value for `None`.
    const NULL: Value<'a>;

    /// The value.
    fn value(self) -> Value<'a>;
}

impl<'a, T: Bind<'a>> Bind<'a> for Option<T> {
    const NULL: Value<'a> = T::NULL;

    fn value(self) -> Value<'a> {
        self.map_or(T::NULL, T::value)
    }
}

impl<'a, T> Bind<'a> for &'a Option<T>
where
    &'a T: Bind<'a>,
{
    const NULL: Value<'a> = <&'a T>::NULL;

    fn value(self) -> Value<'a> {
        self.as_ref().value()
    }
}

macro_rules! bind {
    ($($kind:ty => $variant:ident, $to:expr;)+) => {$(
        impl<'a> Bind<'a> for $kind {
            const NULL: Value<'a> = Value::$variant(None);

            fn value(self) -> Value<'a> {
                let to: fn($kind) -> _ = $to;
                Value::$variant(Some(to(self)))
            }
        }
    )+};
}

/// Binds types that are copied by value and by reference.
macro_rules! bind_copies {
    ($($kind:ty => $variant:ident, $to:expr;)+) => {$(
        bind! {
            $kind => $variant, $to;
            &'a $kind => $variant, |value| {
                let to: fn($kind) -> _ = $to;
                to(*value)
            };
        }
    )+};
}

bind_copies! {
    bool => Boolean, |value| value;
    i64 => Integer, |number| number;
    u32 => Integer, i64::from;
    Uuid => Uuid, |id| id;
    Timestamp => Integer, |time| time.as_millis();
}

bind! {
    &'a str => Text, Cow::Borrowed;
    Cow<'a, str> => Text, |text| text;
    &'a String => Text, |text| Cow::Borrowed(&**text);
    &'a Secret => Text, |secret| Cow::Borrowed(secret.reveal());
    ClientId => Text, |id| Cow::Owned(id.as_str().to_owned());
    &'a ClientId => Text, |id| Cow::Borrowed(id.as_str());
    &'a [u8] => Bytes, Cow::Borrowed;
    Vec<u8> => Bytes, Cow::Owned;
    &'a Vec<u8> => Bytes, |bytes| Cow::Borrowed(&**bytes);
    &'a [u8; 32] => Bytes, |bytes| Cow::Borrowed(&bytes[..]);
    Digest => Bytes, |digest| Cow::Owned(digest.as_bytes().to_vec());
    &'a Digest => Bytes, |digest| Cow::Borrowed(&digest.as_bytes()[..]);
    &'a CodeChallenge => Bytes, |challenge| Cow::Borrowed(&challenge.digest().as_bytes()[..]);
    &'a Sealed => Bytes, |sealed| Cow::Borrowed(sealed.as_bytes());
    &'a Decimal => Decimal, |decimal| decimal;
}

impl<'a> Bind<'a> for &'a [i64] {
    const NULL: Value<'a> = Value::Integers(&[]);

    fn value(self) -> Value<'a> {
        Value::Integers(self)
    }
}

impl<'a> Bind<'a> for &'a [Value<'a>] {
    const NULL: Value<'a> = Value::List(&[]);

    fn value(self) -> Value<'a> {
        Value::List(self)
    }
}

impl<'a> Bind<'a> for &'a [Uuid] {
    const NULL: Value<'a> = Value::Uuids(&[]);

    fn value(self) -> Value<'a> {
        Value::Uuids(self)
    }
}

/// The values of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        [$($crate::sql::value::Bind::value($value)),*]
    };
}

pub(crate) use values;

/// The values of rows, arranged by column, as [`Value::List`] takes them.
pub fn columns<'a, const N: usize>(
    rows: impl Iterator<Item = [Value<'a>; N]>,
) -> [Vec<Value<'a>>; N] {
    let mut columns = [const { Vec::new() }; N];
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    columns
}

/// A row of either engine.
#[derive(Clone, Copy)]
pub enum Row<'a> {
    /// A row from SQLite.
    Sqlite(&'a rusqlite::Row<'a>),
    /// A row from PostgreSQL.
    Postgres(&'a tokio_postgres::Row),
}

macro_rules! read_as {
    ($($name:ident: $kind:ty, $from:expr;)+) => {
        impl<'a> Row<'a> {
            $(
                #[inline]
                fn $name(self, column: usize) -> Result<Option<$kind>, Mismatch> {
                    match self {
                        Row::Sqlite(row) => match row.get_ref(column)? {
                            ValueRef::Null => Ok(None),
                            value => Ok(Some($from(value)?)),
                        },
                        Row::Postgres(row) => Ok(row.try_get(column)?),
                    }
                }
            )+
        }
    };
}

read_as! {
    boolean: bool, |value: ValueRef<'a>| value.as_i64().map(|value| value != 0);
    bytes: &'a [u8], |value: ValueRef<'a>| value.as_blob();
    integer: i64, |value: ValueRef<'a>| value.as_i64();
    text: &'a str, |value: ValueRef<'a>| value.as_str();
    uuid: Uuid, |value: ValueRef<'a>| value.as_blob().and_then(|bytes| Uuid::from_slice(bytes).map_err(FromSqlError::other));
}

/// Why a value cannot be read: it is of another type, or null where it may not be. It is small, as values are read often.
#[derive(Debug)]
pub struct Mismatch(Cause);

impl<E: Into<Cause>> From<E> for Mismatch {
    fn from(error: E) -> Mismatch {
        Mismatch(error.into())
    }
}

impl From<Mismatch> for ScriptError {
    fn from(mismatch: Mismatch) -> ScriptError {
        ScriptError::Final(Error::Internal(mismatch.0))
    }
}

/// A type that can be read from a column.
pub trait Take: Sized {
    /// The value of a column, by its number.
    ///
    /// # Errors
    /// [`Mismatch`].
    fn take(row: Row<'_>, column: usize) -> Result<Self, Mismatch>;

    /// The same; `None` if it is null.
    ///
    /// # Errors
    /// [`Mismatch`].
    fn find(row: Row<'_>, column: usize) -> Result<Option<Self>, Mismatch>;
}

impl<T: Take> Take for Option<T> {
    #[inline]
    fn take(row: Row<'_>, column: usize) -> Result<Self, Mismatch> {
        T::find(row, column)
    }

    fn find(row: Row<'_>, column: usize) -> Result<Option<Self>, Mismatch> {
        T::find(row, column).map(Some)
    }
}

macro_rules! take {
    ($($kind:ty => $from:ident, $of:expr;)+) => {$(
        impl Take for $kind {
            #[inline]
            fn take(row: Row<'_>, column: usize) -> Result<Self, Mismatch> {
                match row.$from(column)? {
                    Some(found) => $of(found),
                    None => Err(format!("column {column} is null").into()),
                }
            }

            #[inline]
            fn find(row: Row<'_>, column: usize) -> Result<Option<Self>, Mismatch> {
                match row.$from(column)? {
                    Some(found) => $of(found).map(Some),
                    None => Ok(None),
                }
            }
        }
    )+};
}

take! {
    bool => boolean, Ok;
    i64 => integer, Ok;
    Uuid => uuid, Ok;
    String => text, |text: &str| Ok(text.to_owned());
    Secret => text, |text: &str| Ok(Secret::from_text(text));
    ClientId => text, |text: &str| Ok(ClientId::new(text));
    Decimal => text, |text: &str| Ok(text.parse()?);
    Timestamp => integer, |millis| Ok(Timestamp::from_millis(millis));
    [u8; 32] => bytes, |bytes: &[u8]| Ok(bytes.try_into()?);
    Vec<u8> => bytes, |bytes: &[u8]| Ok(bytes.to_vec());
    Digest => bytes, |bytes: &[u8]| Ok(Digest::from_bytes(bytes.try_into()?));
    CodeChallenge => bytes, |bytes: &[u8]| Ok(CodeChallenge::from_digest(Digest::from_bytes(bytes.try_into()?)));
    Sealed => bytes, |bytes: &[u8]| Ok(Sealed::from_bytes(bytes.to_vec()));
}

macro_rules! ids {
    ($($name:ident)+) => {
        bind_copies! { $($name => Uuid, |id| id.0;)+ }
        take! { $($name => uuid, |id| Ok($name(id));)+ }
    };
}

macro_rules! string_enums {
    ($($name:ident)+) => {
        bind_copies! { $($name => Text, |value| Cow::Borrowed(value.as_str());)+ }
        take! { $($name => text, |text: &str| Ok(text.parse()?);)+ }
    };
}

ids! { ApiKeyId AuditEventId BrowserSessionId FileId FolderId IdentityId InvitationId PasskeyId ProductId ProductImportId SessionId ShareLinkId TeamId UserId }
string_enums! { Action Audience ItemType Mode Occasion ProductStatus Purpose Role Scope }

/// The columns of a row, read in order. By name, both drivers compare names for each value of each row, which was an eighth
/// of the cost of a request for one product.
pub struct Columns<'a> {
    row: Row<'a>,
    next: usize,
}

impl<'a> Columns<'a> {
    /// The columns of `row`, from the first.
    pub fn of(row: Row<'a>) -> Self {
        Columns { row, next: 0 }
    }

    /// The next column.
    ///
    /// # Errors
    /// [`Mismatch`].
    #[inline]
    pub fn take<T: Take>(&mut self) -> Result<T, Mismatch> {
        self.next += 1;
        T::take(self.row, self.next - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_sent_as_it_was_written_unless_it_would_not_fit_when_read() {
        let sent = |literal: &str| numeric_text(&literal.parse().unwrap()).into_owned();
        for literal in ["0.10", "19.90", "1e-400", "1.5E+3", "-0.00"] {
            assert_eq!(sent(literal), literal);
        }
        let zeros = format!("1.{}e-400", "0".repeat(200));
        assert_eq!(sent(&zeros), "1e-400");
    }
}

//! Records the statements that a binary sends to PostgreSQL, and replays them.
//!
//! 1. To record is to take each statement from a relay, with its parameters and their types as they were sent.
//! 2. To replay is to send the same, in the same order, to a database without rows, and to record the answers: how
//!    many rows, of which columns and types, or the constraint that refused the statement.

use std::error::Error as StdError;

use bytes::{Buf, BufMut, BytesMut};
use serde::{Deserialize, Serialize};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Error};

use super::super::relay::Message;

/// The types that the store sends.
const TYPES: [Type; 9] = [
    Type::BOOL,
    Type::BYTEA,
    Type::BYTEA_ARRAY,
    Type::INT8,
    Type::INT8_ARRAY,
    Type::TEXT,
    Type::TEXT_ARRAY,
    Type::UUID,
    Type::UUID_ARRAY,
];

#[derive(Serialize, Deserialize)]
pub struct Statement {
    pub sql: String,
    /// `None` for a batch such as `BEGIN`, whose answer is ignored.
    pub parameters: Option<Vec<Parameter>>,
    pub answer: String,
}

impl Statement {
    fn new(sql: String, parameters: Option<Vec<Parameter>>) -> Statement {
        Statement {
            sql,
            parameters,
            answer: String::new(),
        }
    }
}

/// The name of a type, and a value of it: a text as it is, anything else in PostgreSQL's binary format, in
/// hexadecimal.
#[derive(Debug, Serialize, Deserialize)]
pub struct Parameter(pub String, Option<String>);

impl Parameter {
    pub fn kind(&self) -> Type {
        let found = TYPES.into_iter().find(|kind| kind.name() == self.0);
        found.unwrap_or_else(|| panic!("the type {} is missing in TYPES", self.0))
    }
}

impl ToSql for Parameter {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        let Some(value) = &self.1 else {
            return Ok(IsNull::Yes);
        };
        match *kind == Type::TEXT {
            true => out.put_slice(value.as_bytes()),
            false => {
                for digits in value.as_bytes().chunks(2) {
                    out.put_u8(u8::from_str_radix(std::str::from_utf8(digits)?, 16)?);
                }
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Step 1: the statements in a client's messages. They are in a Query, a Parse, or a Bind, which has the values and
/// follows the Parse of the same statement.
pub fn statements(said: &[Message]) -> Vec<Statement> {
    let mut noted = Vec::new();
    for (tag, body) in said {
        note(&mut noted, *tag, body);
    }
    noted
}

fn note(noted: &mut Vec<Statement>, tag: u8, mut body: &[u8]) {
    let body = &mut body;
    match tag {
        b'Q' => noted.push(Statement::new(text(body), None)),
        b'P' => {
            let (_name, sql) = (text(body), text(body));
            let types = (0..body.get_u16()).map(|_| {
                let kind = Type::from_oid(body.get_u32()).expect("a type of PostgreSQL's own");
                Parameter(kind.name().to_owned(), None)
            });
            noted.push(Statement::new(sql, Some(types.collect())));
        }
        b'B' => {
            let (_portal, _name) = (text(body), text(body));
            let formats = body.get_u16();
            body.advance(2 * usize::from(formats));
            let values = body.get_u16();
            let parameters = noted.last_mut().and_then(|last| last.parameters.as_mut());
            let parameters = parameters.expect("a Parse comes before its Bind");
            assert_eq!(parameters.len(), usize::from(values));
            for parameter in parameters {
                // A negative length means null.
                let Ok(length) = usize::try_from(body.get_i32()) else {
                    continue;
                };
                let value = body.copy_to_bytes(length);
                parameter.1 = Some(match parameter.kind() == Type::TEXT {
                    true => String::from_utf8(value.to_vec()).unwrap(),
                    false => value.iter().map(|byte| format!("{byte:02x}")).collect(),
                });
            }
        }
        _ => {}
    }
}

/// Takes a zero-terminated text.
fn text(body: &mut &[u8]) -> String {
    let end = body
        .iter()
        .position(|byte| *byte == 0)
        .expect("a text ends");
    let text = String::from_utf8(body[..end].to_vec()).unwrap();
    body.advance(end + 1);
    text
}

/// Step 2, for one statement. Returns its answer.
pub async fn replay(client: &Client, statement: &Statement) -> String {
    let answer = match &statement.parameters {
        Some(parameters) => ask(client, &statement.sql, parameters).await,
        None => client
            .batch_execute(&statement.sql)
            .await
            .map(|()| String::new()),
    };
    answer.unwrap_or_else(|error| match error.as_db_error() {
        Some(refused) if refused.constraint().is_some() => {
            format!("refused by {}", refused.constraint().unwrap_or_default())
        }
        Some(failed) => format!("failed: {}", failed.message()),
        None => format!("failed: {error}"),
    })
}

async fn ask(client: &Client, sql: &str, parameters: &[Parameter]) -> Result<String, Error> {
    let types: Vec<Type> = parameters.iter().map(Parameter::kind).collect();
    let statement = client.prepare_typed(sql, &types).await?;
    let columns = statement.columns().iter();
    let columns: Vec<_> = columns
        .map(|column| format!("{} {}", column.name(), column.type_()))
        .collect();
    let values: Vec<_> = parameters
        .iter()
        .map(|value| value as &(dyn ToSql + Sync))
        .collect();
    let rows = match columns.is_empty() {
        true => client.execute(&statement, &values).await?,
        false => client.query(&statement, &values).await?.len() as u64,
    };
    Ok(format!("rows: {rows}; columns: {}", columns.join(", ")))
}

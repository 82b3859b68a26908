//! Statements, their values and their rows, written once for both engines.
//!
//! A statement is written in PostgreSQL's dialect, and `sql!` makes SQLite's of it when it compiles ([`text`]). A verb
//! of the store is a [`Call`]: a statement, its values, and what is made of its rows. Nothing happens before a script
//! hands it to [`crate::store::Sql::run`], alone or with others that may travel together.
//!
//! - `table!`: the columns of a table and their order, which everything else is made of.
//! - `encoded.rs`: values that are kept for longer than whoever has given them.
//! - `copy.rs`: what a copy of everything needs of an engine.
//! - [`value`]: how the types of the domain stand in a statement and in a row.
//!
//! No engine runs here: SQLite is in [`crate::sqlite`], PostgreSQL in [`crate::postgres`].

pub mod call;
pub(crate) mod copy;
pub mod encoded;
pub mod schema;
pub mod script_error;
pub mod statement;
pub(crate) mod table;
pub mod text;
pub mod value;

pub use call::{Call, Changed, RowCollector};
pub use script_error::ScriptError;
pub use statement::{Many, Statement};
pub(crate) use statement::{lock, sql, text};
pub(crate) use table::table;
pub(crate) use value::values;

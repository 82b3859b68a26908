//! Statements, their values and their rows, written once for both engines.
//!
//! A statement is written in PostgreSQL's dialect, and `sql!` derives SQLite's from it at compile time ([`text`]). A verb of
//! the store is a [`Call`]: a statement, its values, and what to make of its rows. Nothing happens until a script hands it
//! to [`crate::store::Sql::run`], alone or with others that may travel together.
//!
//! - `table!`: the columns of a table and their order, from which everything else is derived.
//! - `encoded.rs`: values kept for longer than those they were made from.
//! - `copy.rs`: what a copy of everything needs from an engine.
//! - [`value`]: how the types of the domain are represented in statements and rows.
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

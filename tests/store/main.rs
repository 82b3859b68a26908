//! The rules of the service over a real store: what `app` and `store` promise together.
//!
//! Nothing here names SQLite but [`support`], which makes the store; another database runs the same
//! tests.

mod api_key;
mod idempotency;
mod processes;
mod product;
mod product_list;
mod support;
mod team;

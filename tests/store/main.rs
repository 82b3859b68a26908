//! The rules of the service over a real store: what `app` and `store` promise together.
//!
//! Nothing here names SQLite but [`support`], which makes the store; another database runs the same
//! tests.

mod support;
mod team;

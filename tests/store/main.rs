//! The rules of the service over a real store: what `app` and `store` promise together.
//!
//! Nothing here names SQLite but [`support`], which makes the store; another database runs the same
//! tests.

mod api_key;
mod health;
mod idempotency;
mod item;
mod member;
mod oauth_client;
mod processes;
mod product;
mod product_list;
mod session;
mod share_link;
mod support;
mod team;
mod user;

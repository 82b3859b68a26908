//! `/api/v1/products`: what the table of answers does not show.

mod archive;
mod create;
mod idempotency;
mod list;
mod numbers;
mod rate_limit;
mod read;
mod request;
mod update;
mod violations;

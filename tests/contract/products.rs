//! `/api/v1/products`: behavior beyond the table of answers.

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

//! Three replicas on one PostgreSQL and one Redis, behind haproxy: what clients of the balancer see when
//! replicas come and go, when Redis does, and when PostgreSQL goes.

mod agreement;
mod fleet;
mod limits;
mod readiness;
mod rolling;
mod tls;
mod upgrade;

/// The server and command line under test.
const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

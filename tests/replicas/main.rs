//! Three replicas on one database and one Redis, behind haproxy: what clients of the balancer see when
//! replicas come and go, and when Redis does.

mod fleet;
mod limits;
mod rolling;
mod tls;

/// The server and command line under test.
const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

//! The `invoicing` binary.
fn main() {}

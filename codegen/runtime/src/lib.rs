//! What the generated server modules stand on.
//!
//! Under construction.

mod decimal;
mod field;

pub use decimal::{Decimal, DecimalError};
pub use field::Field;

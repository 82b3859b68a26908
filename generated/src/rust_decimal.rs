//! Conversions between [`Decimal`] and [`rust_decimal::Decimal`], the usual decimal type for
//! arithmetic.
//!
//! Both directions are exact or fail: this crate's type holds 40 digits and exponents up to 400,
//! `rust_decimal`'s 28 digits after the point and 96 bits in all.

use rust_decimal::Decimal as Arithmetic;

use crate::openapi::catalog::types::error::ConversionError;
use crate::openapi::{Decimal, DecimalError};
use crate::types::{Amount, TaxRate};

/// ```
/// use invoicing_client::Decimal;
///
/// let price = rust_decimal::Decimal::new(1990, 2);
/// assert_eq!(Decimal::from(price).to_string(), "19.90");
/// ```
impl From<Arithmetic> for Decimal {
    fn from(value: Arithmetic) -> Decimal {
        Decimal::try_from(value.to_string().as_str())
            // At most 29 digits, possibly with a point, are a JSON number within the limits.
            .unwrap_or_else(|_| unreachable!("{value} is a JSON number"))
    }
}

/// ```
/// let price: invoicing_client::Decimal = "19.90".parse()?;
/// assert_eq!(rust_decimal::Decimal::try_from(&price)?, rust_decimal::Decimal::new(1990, 2));
///
/// let tiny: invoicing_client::Decimal = "1e-29".parse()?;
/// assert!(rust_decimal::Decimal::try_from(&tiny).is_err());
/// # Ok::<(), invoicing_client::DecimalError>(())
/// ```
impl TryFrom<&Decimal> for Arithmetic {
    type Error = DecimalError;

    fn try_from(value: &Decimal) -> Result<Arithmetic, DecimalError> {
        // As written if possible, so that 19.90 keeps its zero.
        Arithmetic::from_str_exact(value.as_str())
            .ok()
            .or_else(|| by_value(value))
            .ok_or(DecimalError::Precision)
    }
}

/// ```
/// use invoicing_client::types::Amount;
///
/// let price = Amount::try_from(rust_decimal::Decimal::new(1990, 2)).unwrap();
/// assert_eq!(price.to_string(), "19.90");
/// assert!(Amount::try_from(rust_decimal::Decimal::NEGATIVE_ONE).is_err());
/// ```
impl TryFrom<Arithmetic> for Amount {
    type Error = ConversionError;

    fn try_from(value: Arithmetic) -> Result<Amount, ConversionError> {
        Amount::try_from(Decimal::from(value))
    }
}

/// ```
/// use invoicing_client::types::TaxRate;
///
/// assert_eq!(TaxRate::try_from(rust_decimal::Decimal::new(81, 1)).unwrap().to_string(), "8.1");
/// ```
impl TryFrom<Arithmetic> for TaxRate {
    type Error = ConversionError;

    fn try_from(value: Arithmetic) -> Result<TaxRate, ConversionError> {
        TaxRate::try_from(Decimal::from(value))
    }
}

/// Returns the value without trailing zeros, from `-12e2` for -1,200.
fn by_value(value: &Decimal) -> Option<Arithmetic> {
    let canonical = value.canonical();
    let (mantissa, exponent) = canonical.split_once('e').unwrap_or((&canonical, "0"));
    let (mantissa, exponent) = (
        mantissa.parse::<i128>().ok()?,
        exponent.parse::<i32>().ok()?,
    );
    let scale = exponent.min(0).unsigned_abs();
    let factor = 10_i128.checked_pow(exponent.max(0).unsigned_abs())?;
    Arithmetic::try_from_i128_with_scale(mantissa.checked_mul(factor)?, scale).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_exact_or_fail() {
        for (written, expected) in [
            ("0", Some("0")),
            ("-0.00", Some("0.00")),
            ("19.90", Some("19.90")),
            ("1.2e3", Some("1200")),
            ("125e-2", Some("1.25")),
            (
                "79228162514264337593543950335",
                Some("79228162514264337593543950335"),
            ),
            ("79228162514264337593543950336", None),
            ("0.1000000000000000000000000000000000000000", Some("0.1")),
            ("1e-28", Some("0.0000000000000000000000000001")),
            ("1e-29", None),
            ("1e400", None),
        ] {
            let value: Decimal = written.parse().unwrap();
            let converted = Arithmetic::try_from(&value);
            let text = converted.as_ref().map(ToString::to_string).ok();
            assert_eq!(text.as_deref(), expected, "{written}");
            if let Ok(converted) = converted {
                assert_eq!(Decimal::from(converted), value, "{written}");
            }
        }
    }
}

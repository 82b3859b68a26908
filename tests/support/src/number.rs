//! Compares numbers by their text, as decimals, without the service's own arithmetic.

/// A decimal: whether it is negative, its digits without zeros at either end, and the power of ten of
/// the last digit. Zero has no digits.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Canonical {
    negative: bool,
    digits: String,
    exponent: i64,
}

/// The canonical form of a JSON number; `None` if it is not one.
pub fn canonical(literal: &str) -> Option<Canonical> {
    let (negative, rest) = match literal.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, literal),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = all.trim_start_matches('0').trim_end_matches('0');
    if digits.is_empty() {
        let digits = String::new();
        return Some(Canonical {
            negative: false,
            digits,
            exponent: 0,
        });
    }
    let zeros = all.len() - all.trim_end_matches('0').len();
    let exponent: i64 = exponent.trim_start_matches('+').parse().ok()?;
    Some(Canonical {
        negative,
        digits: digits.to_owned(),
        exponent: exponent - i64::try_from(fraction.len()).ok()? + i64::try_from(zeros).ok()?,
    })
}

/// Whether two texts are JSON with the same value, comparing numbers as decimals.
pub fn same(one: &str, other: &str) -> bool {
    match (canonical(one), canonical(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => {
            let value = |text| serde_json::from_str::<serde_json::Value>(text).ok();
            value(one) == value(other)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn numbers_are_the_same_as_decimals() {
        for (one, other) in [
            ("1", "1.0"),
            ("12.50", "125e-1"),
            ("0", "-0.00e7"),
            ("1e2", "100"),
        ] {
            assert!(same(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("1", "1.00000000000000000000001"),
            ("1", "-1"),
            ("10", "1"),
            ("1", "\"1\""),
        ] {
            assert!(!same(one, other), "{one} {other}");
        }
    }
}

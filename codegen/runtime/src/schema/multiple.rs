//! Whether one decimal is a multiple of another, exactly.
//!
//! This file depends only on `std`: the generator also uses it to check defaults.

/// Returns whether the value is a multiple of the other; both are JSON number literals, the other with at
/// most 30 significant digits.
pub(crate) fn is_multiple(value: &str, of: &str) -> bool {
    let (Some((digits, exponent)), Some((of, of_exponent))) = (parts(value), parts(of)) else {
        return false;
    };
    let Ok(of) = of.parse::<u128>() else {
        return digits.is_empty();
    };
    if digits.is_empty() {
        return true;
    }
    // Digits that do not end in a zero are not a multiple of anything times ten.
    let Ok(zeros) = u32::try_from(exponent - of_exponent) else {
        return false;
    };
    let by_ten = |rest: u128, digit: u128| (rest * 10 + digit) % of;
    let digits = digits.bytes().map(|it| u128::from(it - b'0'));
    let rest = digits.fold(0, by_ten);
    (0..zeros).fold(rest, |rest, _| by_ten(rest, 0)) == 0
}

/// The digits between the zeros at both ends, and the power of ten that they are multiplied by.
fn parts(literal: &str) -> Option<(String, i64)> {
    let literal = literal.trim_start_matches('-');
    let (number, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all = format!("{whole}{fraction}");
    let kept = all.trim_end_matches('0');
    let behind = i64::try_from(fraction.len()).ok()?;
    let zeros = i64::try_from(all.len() - kept.len()).ok()?;
    let exponent: i64 = exponent.parse().ok()?;
    let digits = kept.trim_start_matches('0');
    let is_number = digits.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| (digits.to_owned(), exponent - behind + zeros))
}

#[cfg(test)]
mod tests {
    use super::is_multiple;

    #[test]
    fn multiples_are_exact() {
        for (value, of, expected) in [
            ("0.30", "0.1", true),
            ("0.1000000000000000000001", "0.1", false),
            ("-12", "3", true),
            ("-13", "3", false),
            ("1e3", "8", true),
            ("1E+2", "8", false),
            ("0", "0.7", true),
            ("0.000", "7", true),
            ("2.5", "5", false),
            ("25", "2.5", true),
            ("1e400", "7", false),
            ("7e400", "7", true),
            ("123456789012345678901234567890123456780", "10", true),
            ("9.99", "0.01", true),
            ("9.995", "0.01", false),
        ] {
            assert_eq!(is_multiple(value, of), expected, "{value} of {of}");
        }
    }
}

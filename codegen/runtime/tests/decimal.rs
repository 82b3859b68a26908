//! `Decimal` and `Field`, whose files are copied verbatim into the client and so hold no tests.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use openapi_dropshot_runtime::{Decimal, DecimalError, Field};
use proptest::prelude::*;

fn decimal(literal: &str) -> Decimal {
    literal
        .parse()
        .unwrap_or_else(|error| panic!("{literal}: {error}"))
}

#[test]
fn literals_of_one_value_are_equal() {
    for group in [
        &["0", "-0", "0.0", "0e5", "0.000e-9", "-0.0E+1"][..],
        &["1", "1.0", "1e0", "10e-1", "0.1e1", "0.01E+2", "1.000"],
        &["-1200", "-1.2e3", "-12e2", "-1200.00", "-0.0012e6"],
        &["0.05", "5e-2", "0.50e-1", "0.0500"],
    ] {
        let all: Vec<Decimal> = group.iter().map(|literal| decimal(literal)).collect();
        for pair in all.windows(2) {
            assert_eq!(pair[0], pair[1]);
            assert_eq!(pair[0].canonical(), pair[1].canonical());
        }
        assert_eq!(
            all.into_iter().collect::<HashSet<_>>().len(),
            1,
            "{group:?}"
        );
    }
}

#[test]
fn order_is_by_value() {
    let ascending = [
        "-1e400",
        "-20",
        "-19.99",
        "-2",
        "-0.5",
        "-1e-400",
        "0",
        "1e-400",
        "0.09",
        "0.1",
        "0.10000001",
        "1",
        "9.99",
        "10",
        "1e12",
        "1000000000000.000000000000000000000000001",
        "1e400",
    ];
    for (at, one) in ascending.iter().enumerate() {
        for (other_at, other) in ascending.iter().enumerate() {
            assert_eq!(
                decimal(one).cmp(&decimal(other)),
                at.cmp(&other_at),
                "{one} and {other}"
            );
        }
    }
}

#[test]
fn only_json_numbers_are_accepted() {
    for literal in [
        "", "-", "+1", ".5", "1.", "01", "-01", "00", "1e", "1e+", "1e1.0", "0x10", "1_000", " 1",
        "1 ", "NaN", "Infinity", "1,5", "--1", "1.2.3", "٣", "1e5x", "\"1\"",
    ] {
        assert_eq!(
            literal.parse::<Decimal>(),
            Err(DecimalError::Syntax),
            "{literal}"
        );
    }
}

#[test]
fn digits_and_exponents_beyond_the_limits_are_refused() {
    let nines = |count| "9".repeat(count);
    for literal in [
        nines(40),
        format!("0.{}", nines(40)),
        format!("1{}", "0".repeat(400)),
    ] {
        assert_eq!(decimal(&literal).to_string(), literal);
    }
    for literal in [
        nines(41),
        format!("0.{}", nines(41)),
        format!("1.{}1", "0".repeat(39)),
        format!("1{}", "0".repeat(401)),
        format!("0.{}1", "0".repeat(400)),
        "1e401".into(),
        "1e-401".into(),
        "0e401".into(),
        "10e400".into(),
        "0.1e-400".into(),
        "1e999999999".into(),
        "1e-99999999999999999999999999".into(),
        "0.001e-99999999999999999999999999".into(),
        "100e99999999999999999999999999".into(),
        "0.0".to_owned() + &"0".repeat(600),
        "1e".to_owned() + &"0".repeat(600),
    ] {
        assert_eq!(
            literal.parse::<Decimal>(),
            Err(DecimalError::Precision),
            "{literal}"
        );
        assert!(
            serde_json::from_str::<Decimal>(&literal).is_err(),
            "{literal}"
        );
    }
    assert_eq!(decimal(&format!("1{}", "0".repeat(400))), decimal("1e400"));
    assert_eq!(
        decimal(&format!("0.{}1", "0".repeat(399))),
        decimal("1e-400")
    );
}

#[test]
fn a_float_gives_its_shortest_literal() {
    for (float, literal) in [
        (0.1, "0.1"),
        (19.0, "19"),
        (-0.5, "-0.5"),
        (1e21, "1e21"),
        (1e-7, "1e-7"),
    ] {
        assert_eq!(
            Decimal::try_from(float).map(|value| value.to_string()),
            Ok(literal.to_owned())
        );
    }
    assert_eq!(Decimal::try_from(f64::NAN), Err(DecimalError::Syntax));
    assert_eq!(Decimal::try_from(f64::INFINITY), Err(DecimalError::Syntax));
}

#[test]
fn integers_convert_at_their_limits() {
    assert_eq!(Decimal::from(u64::MAX).as_str(), "18446744073709551615");
    assert_eq!(Decimal::from(i64::MIN).as_str(), "-9223372036854775808");
}

#[test]
fn json_keeps_the_literal() {
    let read: Vec<Decimal> = serde_json::from_str("[1.10, 1e2 , -0]").unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), "[1.10,1e2,-0]");
    assert!(serde_json::from_str::<Decimal>("\"1\"").is_err());
    assert!(serde_json::from_str::<Decimal>("null").is_err());
}

#[test]
fn debug_shows_the_literal() {
    assert_eq!(format!("{:?}", decimal("1.50")), "Decimal(1.50)");
    assert_eq!(format!("{:>6}", decimal("1.50")), "  1.50");
}

#[test]
fn an_absent_field_is_never_written_as_null() {
    assert!(serde_json::to_string(&Field::<u8>::Absent).is_err());
}

#[test]
fn a_field_holds_exact_decimals() {
    let field: Field<Decimal> = serde_json::from_str("1.10").unwrap();
    assert_eq!(serde_json::to_string(&field).unwrap(), "1.10");
}

proptest! {
    /// Against integers of 128 bits: literals `m × 10^e` scaled to one exponent compare alike.
    #[test]
    fn comparison_agrees_with_scaled_integers(
        a in any::<i64>(), b in any::<i64>(), x in 0_u32..18, y in 0_u32..18,
    ) {
        let literal = |m: i64, e: u32| format!("{m}e-{e}");
        let scaled = |m: i64, e: u32| i128::from(m) * 10_i128.pow(18 - e);
        let (one, other) = (decimal(&literal(a, x)), decimal(&literal(b, y)));
        prop_assert_eq!(one.cmp(&other), scaled(a, x).cmp(&scaled(b, y)));
        prop_assert_eq!(one == other, one.canonical() == other.canonical());
    }

    #[test]
    fn any_text_is_answered_without_a_panic(text in "[-+0-9.eE ]{0,30}") {
        let json = serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|value| value.is_number());
        let trimmed = text.trim() == text;
        match text.parse::<Decimal>() {
            Ok(_) => prop_assert!(json || text.contains(['e', 'E'])),
            Err(DecimalError::Syntax) => prop_assert!(!json || !trimmed),
            Err(DecimalError::Precision) => {}
        }
    }
}

#[test]
fn values_that_differ_hash_apart() {
    let hashed = |literal| {
        let mut state = DefaultHasher::new();
        decimal(literal).hash(&mut state);
        state.finish()
    };
    let all: HashSet<_> = ["0", "1", "-1", "2", "10", "11"].map(hashed).into();
    assert_eq!(all.len(), 6);
}

#[test]
fn what_is_no_decimal_is_told_why() {
    let told = |literal: &str| literal.parse::<Decimal>().unwrap_err().to_string();
    assert_eq!(told("1,5"), "not a JSON number");
    assert_eq!(
        told("1e401"),
        "more than 40 significant digits, or an exponent beyond 400 either way"
    );
}

//! Exact decimal numbers, as JSON writes them.
//!
//! JSON numbers are decimals of any length, while most JSON libraries turn them into binary floating
//! point, which cannot hold `0.1`. A price must come back as it was sent, so [`Decimal`] keeps the
//! literal itself and compares it as a decimal: `1.0`, `1` and `10e-1` are equal, and each prints as
//! it was written.
//!
//! Two limits make every operation cheap, whatever a caller sends. A value needs at most
//! [`Decimal::MAX_DIGITS`] significant digits, and its exponent stays within
//! ±[`Decimal::MAX_EXPONENT`], both as written and in scientific notation (`1e999999999` is refused by
//! looking at it, never by computing it). Zeros at either end of the digits are not significant, but no
//! literal is longer than [`Decimal::MAX_LENGTH`] characters.
//!
//! This file depends only on `std`, `serde` and `serde_json`, and names nothing else: the generated
//! client contains a copy of it.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

/// An exact decimal number: a JSON number literal, compared by value.
///
/// Equality, order and hash use the value; [`Display`](fmt::Display), [`as_str`](Decimal::as_str) and
/// serialization return the literal as it was written. Serialization is exact with `serde_json` only
/// (reading from or writing to text); other formats are not supported.
///
/// ```
#[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::Decimal;")]
///
/// let price: Decimal = "19.90".parse()?;
/// assert_eq!(price.to_string(), "19.90");
/// assert_eq!(price, "1.99e1".parse()?);
/// assert!(price < Decimal::from(20));
///
/// let sent: Decimal = serde_json::from_str("0.1000000000000000055511151231257827")?;
/// assert_eq!(serde_json::to_string(&sent)?, "0.1000000000000000055511151231257827");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Decimal {
    literal: Box<RawValue>,
    /// [`Number::rank`] of the literal. It decides nearly every comparison, above all those with a
    /// limit, without parsing both literals again.
    rank: i32,
}

/// Why a text is not a [`Decimal`].
///
/// ```
#[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::{Decimal, DecimalError};")]
///
/// assert_eq!("1,5".parse::<Decimal>(), Err(DecimalError::Syntax));
/// assert_eq!("1e401".parse::<Decimal>(), Err(DecimalError::Precision));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalError {
    /// The text is not a JSON number (RFC 8259, section 6).
    Syntax,
    /// The number has more digits or a larger exponent than a [`Decimal`] holds.
    Precision,
}

impl fmt::Display for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DecimalError::Syntax => "not a JSON number",
            DecimalError::Precision => {
                "more than 40 significant digits, or an exponent beyond 400 either way"
            }
        })
    }
}

impl std::error::Error for DecimalError {}

impl Decimal {
    /// The most significant digits that a value may need.
    pub const MAX_DIGITS: usize = 40;

    /// The largest decimal exponent, in either direction.
    pub const MAX_EXPONENT: i32 = 400;

    /// The most characters that a literal may have, including zeros at its ends.
    pub const MAX_LENGTH: usize = 512;

    /// Returns the literal as it was written.
    ///
    /// ```
    #[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::Decimal;")]
    ///
    /// assert_eq!("1.50".parse::<Decimal>().unwrap().as_str(), "1.50");
    /// ```
    pub fn as_str(&self) -> &str {
        self.literal.get()
    }

    /// Returns the same text for every literal of one value: `0`, or the digits and a power of ten.
    ///
    /// For hashing a value together with others; `1.50` and `15e-1` both give `15e-1`.
    ///
    /// ```
    #[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::Decimal;")]
    ///
    /// for literal in ["-1200", "-1.20e3"] {
    ///     assert_eq!(literal.parse::<Decimal>().unwrap().canonical(), "-12e2");
    /// }
    /// ```
    pub fn canonical(&self) -> String {
        self.number().canonical()
    }

    /// Returns the nearest binary floating-point number: inexact, for display and statistics only.
    ///
    /// ```
    #[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::Decimal;")]
    ///
    /// assert_eq!("1.25".parse::<Decimal>().unwrap().to_f64(), 1.25);
    /// ```
    pub fn to_f64(&self) -> f64 {
        // Every JSON number is a Rust float literal, so this cannot fail.
        self.as_str().parse().unwrap_or(f64::NAN)
    }

    fn number(&self) -> Number<'_> {
        // This very literal was scanned when the decimal was made, so the fallback is never used.
        Number::scan(self.as_str()).unwrap_or(Number::ZERO)
    }
}

impl TryFrom<&str> for Decimal {
    type Error = DecimalError;

    fn try_from(literal: &str) -> Result<Decimal, DecimalError> {
        let rank = Number::parse(literal)?.rank();
        RawValue::from_string(literal.to_owned())
            .map(|literal| Decimal { literal, rank })
            .map_err(|_| DecimalError::Syntax)
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(literal: &str) -> Result<Decimal, DecimalError> {
        Decimal::try_from(literal)
    }
}

impl TryFrom<f64> for Decimal {
    type Error = DecimalError;

    /// Returns the shortest literal that reads back as the same `f64`, so `0.1` gives `0.1`.
    ///
    /// # Errors
    /// [`DecimalError::Syntax`] for an infinity or NaN, which JSON does not have.
    fn try_from(value: f64) -> Result<Decimal, DecimalError> {
        // The range in which JavaScript also writes a number without an exponent.
        let plain = value == 0.0 || (1e-6..1e21).contains(&value.abs());
        match plain {
            true => Decimal::try_from(format!("{value}").as_str()),
            false => Decimal::try_from(format!("{value:e}").as_str()),
        }
    }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Decimal {
            fn from(value: $integer) -> Decimal {
                // An integer of at most 64 bits is a JSON number of at most 20 digits, so neither step
                // can fail.
                Decimal::try_from(value.to_string().as_str()).unwrap_or_else(|_| unreachable!())
            }
        }
    )*};
}
from_integer!(i8, i16, i32, i64, u8, u16, u32, u64);

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let by_rank = self.rank.cmp(&other.rank);
        by_rank.then_with(|| self.number().compare(&other.number()))
    }
}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let number = self.number();
        number.negative.hash(state);
        number.exponent.hash(state);
        number.digits().for_each(|digit| state.write_u8(digit));
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decimal({})", self.as_str())
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.literal.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
        let literal = Box::<RawValue>::deserialize(deserializer)?;
        let rank = Number::parse(literal.get())
            .map_err(de::Error::custom)?
            .rank();
        Ok(Decimal { literal, rank })
    }
}

/// A number literal, parsed without copying: the basis of equality, order, hash and limits.
///
/// The value is `0.d₁d₂d₃… × 10^exponent`, where the digits are those of the literal without the zeros
/// at either end, so equal values have equal parts.
#[derive(Clone, Copy)]
pub(crate) struct Number<'a> {
    negative: bool,
    /// Significant digits before and after the decimal point.
    digits: (&'a [u8], &'a [u8]),
    exponent: i32,
}

impl<'a> Number<'a> {
    const ZERO: Number<'static> = Number {
        negative: false,
        digits: (&[], &[]),
        exponent: 0,
    };

    /// Parses a literal and checks it against the limits of [`Decimal`].
    pub(crate) fn parse(literal: &'a str) -> Result<Number<'a>, DecimalError> {
        let (number, written_exponent) = Number::take_apart(literal)?;
        let within =
            |exponent| (-Decimal::MAX_EXPONENT..=Decimal::MAX_EXPONENT).contains(&exponent);
        // In scientific notation the point comes after the first digit, one further right.
        let scientific = number.exponent.saturating_sub(1);
        let fits = literal.len() <= Decimal::MAX_LENGTH
            && number.digits.0.len() + number.digits.1.len() <= Decimal::MAX_DIGITS
            && within(written_exponent)
            && (number.is_zero() || within(scientific));
        fits.then_some(number).ok_or(DecimalError::Precision)
    }

    /// Parses a literal by the grammar of RFC 8259, section 6.
    pub(crate) fn scan(literal: &'a str) -> Result<Number<'a>, DecimalError> {
        Number::take_apart(literal).map(|(number, _)| number)
    }

    /// Returns the number, and its exponent as written.
    fn take_apart(literal: &'a str) -> Result<(Number<'a>, i32), DecimalError> {
        let bytes = literal.as_bytes();
        let negative = bytes.first() == Some(&b'-');
        let (integer, rest) = split_digits(&bytes[usize::from(negative)..]);
        let well_formed = !integer.is_empty() && (integer.len() == 1 || integer[0] != b'0');
        let (fraction, rest) = match rest.split_first() {
            Some((b'.', rest)) => match split_digits(rest) {
                (&[], _) => return Err(DecimalError::Syntax),
                split => split,
            },
            _ => (&[][..], rest),
        };
        let (exponent, rest) = match rest.split_first() {
            Some((b'e' | b'E', rest)) => split_exponent(rest)?,
            _ => (0, rest),
        };
        if !well_formed || !rest.is_empty() {
            return Err(DecimalError::Syntax);
        }
        let number = Number::normalize(negative, integer, fraction, exponent);
        Ok((number, exponent))
    }

    fn normalize(
        negative: bool,
        integer: &'a [u8],
        fraction: &'a [u8],
        exponent: i32,
    ) -> Number<'a> {
        let skip = |digits: &[u8]| digits.iter().take_while(|&&digit| digit == b'0').count();
        let last = |digits: &[u8]| digits.iter().rposition(|&digit| digit != b'0');
        let keep = |digits: &[u8]| last(digits).map_or(0, |at| at + 1);
        let integer = &integer[skip(integer)..];
        let fraction = &fraction[..keep(fraction)];
        let (digits, shift) = match (integer, fraction) {
            (&[], &[]) => return Number::ZERO,
            (&[], fraction) => {
                let leading = skip(fraction);
                ((&[][..], &fraction[leading..]), -length(leading))
            }
            (integer, &[]) => ((&integer[..keep(integer)], &[][..]), length(integer.len())),
            both => (both, length(integer.len())),
        };
        Number {
            negative,
            digits,
            exponent: exponent.saturating_add(shift),
        }
    }

    /// Whether the value is zero.
    pub(crate) fn is_zero(&self) -> bool {
        self.digits.0.is_empty() && self.digits.1.is_empty()
    }

    /// Compares by value, both within the limits of [`Decimal`], in at most one pass over the digits.
    pub(crate) fn compare(&self, other: &Number<'_>) -> Ordering {
        let by_digits = || self.digits().cmp(other.digits());
        let by_rank = self.rank().cmp(&other.rank());
        by_rank.then_with(|| match self.negative {
            true => by_digits().reverse(),
            false => by_digits(),
        })
    }

    /// Sign and exponent in one: of two values within the limits, the greater never has the lower rank.
    fn rank(&self) -> i32 {
        // This exponent is at least `1 - MAX_EXPONENT`, so the sum is positive.
        let magnitude = self.exponent + Decimal::MAX_EXPONENT;
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -magnitude,
            (false, false) => magnitude,
        }
    }

    fn digits(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.digits.0.iter().chain(self.digits.1).copied()
    }

    /// See [`Decimal::canonical`].
    pub(crate) fn canonical(&self) -> String {
        if self.is_zero() {
            return "0".to_owned();
        }
        let sign = if self.negative { "-" } else { "" };
        let digits: String = self.digits().map(char::from).collect();
        let exponent = i64::from(self.exponent) - i64::from(length(digits.len()));
        format!("{sign}{digits}e{exponent}")
    }
}

/// Splits off the digits at the start of a text.
fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at(end)
}

/// A count of digits as an exponent. Saturates, far beyond every limit.
fn length(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Splits off the exponent after `e`. Saturates, far beyond every limit.
fn split_exponent(text: &[u8]) -> Result<(i32, &[u8]), DecimalError> {
    let (negative, text) = match text {
        [b'-', text @ ..] => (true, text),
        [b'+', text @ ..] => (false, text),
        text => (false, text),
    };
    let (digits, rest) = match split_digits(text) {
        (&[], _) => return Err(DecimalError::Syntax),
        split => split,
    };
    let magnitude = digits.iter().fold(0_i32, |sum, digit| {
        sum.saturating_mul(10)
            .saturating_add(i32::from(digit - b'0'))
    });
    Ok((if negative { -magnitude } else { magnitude }, rest))
}

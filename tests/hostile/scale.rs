//! How large an attack is: short in CI, or as long as in the issue, by the variable that `main.rs`
//! names.

/// `short` times the scale, but at most `full`, which is the size that did the harm.
pub fn sized(short: u32, full: u32) -> u32 {
    let scale = std::env::var("INVOICING_HOSTILE_SCALE").map_or(1, |text| {
        let scale = text.parse::<u32>();
        scale
            .unwrap_or_else(|_| panic!("INVOICING_HOSTILE_SCALE is {text:?}; write a whole number"))
    });
    short.saturating_mul(scale).min(full)
}

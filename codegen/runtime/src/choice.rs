//! The message for a text that is none of the allowed ones.
//!
//! This file depends only on `std`, and names nothing else: the generated client contains a copy of it.

/// Returns a message that refuses a text: the text, what was probably meant, and the allowed ones.
pub fn none_of<'a>(text: &str, all: impl Iterator<Item = &'a str>) -> String {
    /// Enough to recognize the text.
    const SHOWN: usize = 64;
    let all: Vec<&str> = all.collect();
    let given = match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    };
    let meant = all.iter().find(|it| it.eq_ignore_ascii_case(text.trim()));
    let meant = meant.map_or(String::new(), |it| format!(" (did you mean {it}?)"));
    format!("{given} is none of {}{meant}", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::none_of;

    #[test]
    fn a_refusal_says_the_text_and_what_there_is() {
        let say = |text| none_of(text, ["GOODS", "SERVICES"].into_iter());
        assert_eq!(say("THINGS"), r#""THINGS" is none of GOODS, SERVICES"#);
        assert_eq!(
            say("goods "),
            r#""goods " is none of GOODS, SERVICES (did you mean GOODS?)"#
        );
        assert_eq!(say(""), r#""" is none of GOODS, SERVICES"#);
        let long = say(&"\u{e4}".repeat(10_000));
        assert!(
            long.len() < 200 && long.contains("\"... is none of"),
            "{long}"
        );
    }
}

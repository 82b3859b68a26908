//! Texts as pages show them.

use std::fmt;

use crate::domain::time::Timestamp;

/// The message for callers who have proven to be a deactivated user, and for no others (docs/decisions.md, X62).
pub(super) const DEACTIVATED: &str = "This account is deactivated. Ask an administrator.";

/// Encodes a text as the value of a parameter in a query.
pub(super) fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// A time, shown in UTC or, if scripts run, in local time.
pub(super) struct Time(pub(super) Timestamp);

impl Time {
    /// As an attribute.
    pub(super) fn machine(&self) -> String {
        self.0.to_string()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.to_datetime().format("%-d %b %Y, %H:%M UTC"))
    }
}

/// Returns what people call a browser or a device with this `User-Agent`: its name and its system, if they are known.
pub(super) fn device_name(user_agent: Option<&str>) -> String {
    const BROWSERS: [(&str, &str); 6] = [
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chromium/", "Chromium"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 6] = [
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ];
    let Some(text) = user_agent else {
        return "A device that does not say what it is".to_owned();
    };
    let find = |names: &[(&str, &'static str)]| {
        let mut names = names.iter();
        names.find(|(part, _)| text.contains(part)).map(|it| it.1)
    };
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) => name.to_owned(),
        _ => text.chars().take(80).collect(),
    }
}

/// Why something was refused, as a sentence.
pub(super) fn not_possible(why: &str) -> String {
    format!("That is not possible: {why}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_called_by_its_name_and_its_system() {
        let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/126.0 Safari/537.36";
        assert_eq!(device_name(Some(chrome)), "Chrome on Windows");
        assert_eq!(device_name(Some("Demo/1.0 (Phone)")), "Demo/1.0 (Phone)");
        assert_eq!(device_name(Some(&"x".repeat(300))).len(), 80);
        assert!(device_name(None).starts_with("A device"));
    }

    #[test]
    fn a_time_is_shown_to_the_minute() {
        let time = Time(Timestamp::from_millis(1_795_372_971_000));
        assert_eq!(
            time.to_string(),
            "22 Nov 2026, 18:02 UTC".replace("18:02", &time.to_string()[13..18])
        );
    }
}

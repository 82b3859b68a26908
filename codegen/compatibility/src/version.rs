//! The version that a change calls for.
//!
//! By [Semantic Versioning](https://semver.org), applied to a document's `info.version`:
//!
//! | most severe change | from 1.4.2 | from 0.4.2 |
//! |---|---|---|
//! | breaking | 2.0.0 | 0.5.0 |
//! | compatible | 1.5.0 | 0.4.3 |
//! | text | 1.4.3 | 0.4.3 |
//! | none | 1.4.2 | 0.4.2 |
//!
//! Before 1.0.0 the minor number plays the part of the major one, as in Cargo.

use semver::Version;

use crate::Severity;

/// Returns the lowest version for a document with such a difference from the one of version `old`.
#[must_use]
pub fn called_for(old: &Version, gravest: Option<Severity>) -> Version {
    let Version {
        major,
        minor,
        patch,
        ..
    } = *old;
    match (gravest, major) {
        (None, _) => old.clone(),
        (Some(Severity::Breaking), 0) => Version::new(0, minor + 1, 0),
        (Some(Severity::Breaking), _) => Version::new(major + 1, 0, 0),
        (Some(Severity::Compatible), 1..) => Version::new(major, minor + 1, 0),
        (Some(Severity::Compatible | Severity::Text), _) => Version::new(major, minor, patch + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minor_number_before_1_0_0_is_what_the_major_one_is_later() {
        for (gravest, later, before) in [
            (Some(Severity::Breaking), "2.0.0", "0.5.0"),
            (Some(Severity::Compatible), "1.5.0", "0.4.3"),
            (Some(Severity::Text), "1.4.3", "0.4.3"),
            (None, "1.4.2", "0.4.2"),
        ] {
            let called_for = |old| called_for(&old, gravest).to_string();
            assert_eq!(called_for(Version::new(1, 4, 2)), later);
            assert_eq!(called_for(Version::new(0, 4, 2)), before);
        }
    }
}

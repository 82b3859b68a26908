//! Why a user could not sign in by the provider.

/// Why a user could not sign in by the provider. The texts are for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// It does not answer, or not in a way that can be understood.
    #[error("the OpenID provider cannot be used now: {0}")]
    Unavailable(String),
    /// Too many people wait for it.
    #[error("too many people wait for the OpenID provider")]
    Busy,
    /// Too many people wait for it, and somebody else came. What the caller brought may be used up.
    #[error("too many people wait for the OpenID provider: one was sent away")]
    SentAway,
    /// It does not accept the code, as it would not accept an invented one.
    #[error("the OpenID provider does not take a code: {0}")]
    InvalidCode(String),
    /// It does not accept this client, or says something that it must not.
    #[error("the OpenID provider did not prove who somebody is: {0}")]
    Unproven(String),
}

/// Returns as much of a provider's or a caller's text as the log takes, in one line that steers no terminal.
pub(super) fn short(said: &str) -> String {
    let said = said.chars().take(200);
    said.map(|it| if it.is_control() { ' ' } else { it })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_provider_says_is_one_short_line_for_the_log() {
        assert_eq!(short("a\n\u{1b}[31mb\u{9b}c"), "a  [31mb c");
        assert_eq!(short(&"é".repeat(300)).chars().count(), 200);
    }
}

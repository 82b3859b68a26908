//! Passwords (docs/decisions.md, P10 to P12, P31 and P32).
//!
//! 1. A password is compared in Unicode normalization form C: the same letter may be typed in two ways.
//! 2. A new password has 15 to 200 code points and is hard to guess, as judged by zxcvbn, which is given the user's own
//!    email and name, too. There are no rules about kinds of characters: they make passwords shorter and no better.
//! 3. Wrong passwords are counted by account and source, and in total for an account. A caller who has used up one of
//!    the counts must wait until its time is over, and is told so, whether the account exists or not.

use std::time::Duration;

use unicode_normalization::UnicodeNormalization;
use zxcvbn::{Entropy, Score, zxcvbn};

use super::Error;
use super::secret::{Digest, Secret};
use super::time::Timestamp;

/// The fewest code points in a new password.
pub const SHORTEST: usize = 15;

/// The most.
pub const LONGEST: usize = 200;

/// How much of a password zxcvbn looks at: its time grows with the square of that.
const JUDGED: usize = 72;

/// The letters that other characters stand for in passwords, in more than one way: zxcvbn looks up a password once for each
/// combination of them.
const WRITTEN_AS: [&str; 7] = ["4@", "([{<", "69", "1!|", "1|7", "$5", "+7"];

/// In how many combinations zxcvbn may look up a password: that takes 20 ms, and all that are possible take almost a second.
const COMBINATIONS: usize = 16;

/// A bit of everything that zxcvbn has tables and patterns for: words and letters written as digits, keys side by side, years,
/// dates and repetitions.
const OF_ALL_KINDS: &str = "p4ssword zxcvbn 14789 19901231 1990-12-31 abab";

/// Loads the tables and patterns of zxcvbn: 25 ms, and 18 MiB. Otherwise the first password loads them, on a thread that may
/// get next to nothing of the cores, and all others wait for that.
pub(crate) fn load_tables() {
    zxcvbn(OF_ALL_KINDS, &[]);
}

/// Normalizes a password for comparison: step 1. One that is too long to be valid is cut just beyond the limit.
pub(crate) fn normalized(text: &str) -> Secret {
    // A code point in this form comes from at most four; it would be a waste to normalize more.
    let typed = text.chars().take(4 * (LONGEST + 1));
    Secret::from_text(typed.nfc().take(LONGEST + 1).collect::<String>())
}

/// Returns a new password as it is compared, if it is good enough: step 2. That takes up to 20 ms.
///
/// # Errors
/// [`Error::Invalid`], which says what to do.
pub(crate) fn new_password(text: &str, about_user: &[&str]) -> Result<Secret, Error> {
    let password = normalized(text);
    let refused = |why: String| Err(Error::invalid("password", why));
    let count = password.reveal().chars().count();
    if count < SHORTEST {
        return refused(format!(
            "is too short: it needs at least {SHORTEST} characters; four or five words that do not belong together are good"
        ));
    }
    if count > LONGEST {
        return refused(format!("is longer than {LONGEST} characters; shorten it"));
    }
    let parts = parts(password.reveal());
    let judged = parts.iter().map(|part| zxcvbn(part, about_user));
    let best = judged.max_by_key(Entropy::guesses);
    if best.as_ref().is_none_or(|it| it.score() < Score::Three) {
        let feedback = best.as_ref().and_then(Entropy::feedback);
        let why = feedback.and_then(|it| it.warning());
        let why = why.map_or_else(String::new, |why| {
            format!(" ({})", why.to_string().trim_end_matches('.'))
        });
        return refused(format!(
            "is easy to guess{why}; four or five words that do not belong together are good"
        ));
    }
    Ok(password)
}

/// The parts of a password that zxcvbn looks at, as few as can be looked up in time. A password is at least as hard to guess
/// as any part of it.
fn parts(password: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for char in password.chars().take(JUDGED) {
        let last = parts.len() - 1;
        parts[last].push(char);
        if combinations(&parts[last]) > COMBINATIONS {
            parts[last].pop();
            parts.push(char.into());
        }
    }
    parts
}

/// In how many combinations zxcvbn looks up a password, at most.
fn combinations(password: &str) -> usize {
    let used = |char: &char| password.contains(*char);
    let ways = WRITTEN_AS.map(|it| it.chars().filter(used).count().max(1));
    // These may be two letters: it tries both.
    let of_two = ['1', '|', '7'].iter().filter(|it| used(it)).count();
    ways.iter().product::<usize>() << of_two
}

/// How many wrong passwords are allowed, and how long they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// How many.
    pub count: i64,
    /// Within this time from the first.
    pub within: Duration,
}

/// From one source.
pub const OF_SOURCE: Allowance = Allowance {
    count: 10,
    within: Duration::from_mins(15),
};

/// In total, from sources that have not signed in to the account before.
pub const OF_ACCOUNT: Allowance = Allowance {
    count: 100,
    within: Duration::from_hours(24),
};

/// Wrong passwords that were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongPasswords {
    /// How many.
    pub count: i64,
    /// When the first of them came.
    pub begun_at: Timestamp,
}

/// Where wrong passwords come from: a network, or a browser that has signed in before; or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source(pub Digest);

impl Source {
    /// All sources that have no count of their own.
    pub const ALL: &Source = &Source(Digest::from_bytes([0; 32]));
}

/// The account of an email, whether a user has it or not.
pub fn account(email: &str) -> Digest {
    Digest::of(email.trim().to_ascii_lowercase().as_bytes())
}

impl Allowance {
    /// Counts one more at `now`.
    ///
    /// # Errors
    /// [`Error::TooManyWrongPasswords`] if there were already as many as allowed: step 3.
    pub(crate) fn one_more(
        self,
        known: WrongPasswords,
        now: Timestamp,
    ) -> Result<WrongPasswords, Error> {
        let until = known.begun_at.after(self.within);
        // A count that began later than this is from a wrong clock, which must not lock anyone out.
        let may_have_begun = known.begun_at <= now.after(self.within);
        let (count, begun_at) = match may_have_begun && now < until {
            true if known.count >= self.count => return Err(Error::TooManyWrongPasswords(until)),
            true => (known.count + 1, known.begun_at),
            false => (1, now),
        };
        Ok(WrongPasswords { count, begun_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        new_password(text, &["ada@example.com", "Ada Lovelace"])
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_password_is_compared_in_normal_form_c() {
        assert_eq!(normalized("a\u{308}"), normalized("\u{e4}"));
        assert_eq!(normalized(&"x".repeat(9_000)).reveal().len(), LONGEST + 1);
        // A password that is too long is still recognised as such if each code point was typed as four.
        let of_four = "\u{3b1}\u{313}\u{300}\u{345}".repeat(LONGEST + 1);
        assert_eq!(
            normalized(&of_four),
            normalized(&"\u{1f82}".repeat(LONGEST + 1))
        );
    }

    #[test]
    fn a_new_password_has_fifteen_to_two_hundred_code_points() {
        assert!(complaint("pear-tulip-9kx").contains("too short"));
        new_password("pear-tulip-9kx7", &[]).unwrap();
        let words = "pear tulip nine harbour ";
        new_password(&words.repeat(9)[..LONGEST], &[]).unwrap();
        assert!(complaint(&words.repeat(9)).contains("longer than 200"));
    }

    #[test]
    fn a_password_that_is_easy_to_guess_is_refused() {
        for text in [
            "aaaaaaaaaaaaaaaaaaaa",
            "passwordpassword",
            "qwertyuiopasdfghjkl",
            "Ada Lovelace 2026",
        ] {
            assert!(complaint(text).contains("easy to guess"), "{text}");
        }
        // Just good enough.
        new_password("mountain summer", &[]).unwrap();
    }

    /// All at once took almost a second, during which nobody else's password was hashed.
    #[test]
    fn a_password_of_characters_that_look_alike_is_judged_in_parts_of_few_combinations() {
        let all = "4@8({[<3691!|70$5+%2".repeat(4);
        assert_eq!(combinations(&all), 4_608);
        let judged = parts(&all);
        assert_eq!(judged.concat(), all[..JUDGED]);
        assert!(judged.iter().all(|it| combinations(it) <= COMBINATIONS));
        new_password("4@69$5(17-harbour-tulip-nine-lantern", &[]).unwrap();
        // Each part is easy to guess.
        for text in ["ada@example.com0123456789", "1234567890!@#$%^&*()"] {
            assert!(combinations(text) > COMBINATIONS, "{text}");
            assert!(complaint(text).contains("easy to guess"), "{text}");
        }
        // One like these is judged as a whole.
        for usual in ["p@ssw0rd 1679", "!@#$%^&*()_+!@#$", "pear-tulip-9kx7"] {
            assert_eq!(parts(usual), [usual]);
        }
    }

    #[test]
    fn wrong_passwords_are_held_until_the_time_of_the_first_is_over() {
        let at = |seconds| Timestamp::from_millis(1000 * i64::from(seconds));
        let (count, begun_at) = (0, at(5));
        let mut known = WrongPasswords { count, begun_at };
        for _ in 0..OF_SOURCE.count {
            known = OF_SOURCE.one_more(known, at(6)).unwrap();
        }
        let held = OF_SOURCE.one_more(known, at(904)).unwrap_err();
        assert!(matches!(held, Error::TooManyWrongPasswords(until) if until == at(905)));
        let again = OF_SOURCE.one_more(known, at(905)).unwrap();
        assert_eq!((again.count, again.begun_at), (1, at(905)));
    }

    #[test]
    fn wrong_passwords_that_a_clock_counted_years_ahead_hold_nobody_up_once_it_is_right() {
        let now = Timestamp::from_millis(1_795_211_340_123);
        let ahead = |time| WrongPasswords {
            count: OF_SOURCE.count,
            begun_at: now.after(time),
        };
        OF_SOURCE
            .one_more(ahead(OF_SOURCE.within), now)
            .unwrap_err();
        let years = Duration::from_secs(10 * 365 * 24 * 60 * 60);
        let again = OF_SOURCE.one_more(ahead(years), now).unwrap();
        assert_eq!((again.count, again.begun_at), (1, now));
    }

    #[test]
    fn a_password_of_the_most_code_points_may_be_typed_as_four_times_as_many() {
        // Here, three code points are one in normal form C.
        let typed = "\u{3c9}\u{313}\u{300}".repeat(LONGEST + 1);
        let compared = normalized(&typed);
        assert_eq!(compared.reveal(), "\u{1f62}".repeat(LONGEST + 1));
    }
}

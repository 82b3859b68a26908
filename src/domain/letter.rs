//! Letters: the mail that people are sent, and why (docs/decisions.md, P7, P13, P17).
//!
//! 1. A letter is plain text that says who it is from, what happened, and what to do if the reader did not ask for it.
//! 2. It goes to an address that is stored (P19).
//! 3. The name of a team or a person was typed, and perhaps not by the reader: in a letter it is one short line, without
//!    characters that change the direction of the text around them or are invisible ([`line`]).
//! 4. A link in a letter is worth as much as a password: a letter is in no log and in no table.

use std::fmt;
use std::time::Duration;

use icu_properties::props::DefaultIgnorableCodePoint;
use icu_properties::{CodePointSetData, CodePointSetDataBorrowed};
use unicode_segmentation::UnicodeSegmentation;

use super::member::Role;
use super::secret::Secret;
use super::string_enum::string_enum;

/// How many characters of a name are shown.
const NAME: usize = 60;

string_enum! {
    /// Why a letter is sent.
    Occasion {
        /// A person is invited to a team.
        Invitation = "invitation",
        /// A user is to reset their password.
        Reset = "reset",
        /// A user is to confirm a new address.
        ChangeEmail = "change-email",
        /// Another user wants to have the address of a user.
        EmailTaken = "email-taken",
        /// A user's address was changed; this was the old one.
        EmailChanged = "email-changed",
    }
}

impl Occasion {
    /// How long a letter is counted.
    pub const COUNTED_FOR: Duration = Duration::from_hours(1);

    /// How many of a team and its users go to one address that they have typed in that time, of each occasion: its reader has
    /// not asked for them.
    pub const MOST_TO_AN_ADDRESS: i64 = 10;

    /// Whether the address is one that somebody has typed, and not one that is stored. (Who types one that is taken has its
    /// user told, in place of a letter to it.)
    pub fn is_typed(self) -> bool {
        matches!(self, Occasion::Invitation | Occasion::ChangeEmail)
    }

    /// How many are sent in that time: to a user, or by a team that invites.
    pub fn most_an_hour(self) -> i64 {
        match self {
            Occasion::Invitation => 100,
            _ => 3,
        }
    }
}

/// A letter.
#[derive(Clone, PartialEq, Eq)]
pub struct Letter {
    /// Why it is sent.
    pub occasion: Occasion,
    /// The address.
    pub to: String,
    /// What it is about, in a line.
    pub subject: String,
    /// The text, with lines ended by LF.
    pub text: String,
}

/// Shows only why it is sent: the rest is for its reader.
impl fmt::Debug for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Letter({}, ..)", self.occasion)
    }
}

/// An invitation, for a letter.
#[derive(Clone, Copy, Debug)]
pub struct Invited<'a> {
    /// Who is invited.
    pub email: &'a str,
    /// The name of the inviter.
    pub by: &'a str,
    /// The team's name.
    pub team: &'a str,
    /// The role that is offered.
    pub role: Role,
}

/// Writes the letters of a service that people reach at this origin.
#[derive(Clone, Copy, Debug)]
pub struct Letters<'a> {
    /// The origin.
    pub origin: &'a str,
}

impl Letters<'_> {
    /// The letter to a person who is invited to a team.
    pub fn invitation(&self, invited: Invited<'_>, url: &Secret) -> Letter {
        let (by, team, role) = (line(invited.by), line(invited.team), invited.role);
        let text = format!(
            "Hello,\n\n\
             {by} invites you to the team {team}, as {role}.\n\n\
             To join, follow this link. It is good once, for 7 days:\n\n\
             {}\n\n\
             If you do not know who this is, do nothing: nobody joins without the link.",
            url.reveal()
        );
        self.letter(
            Occasion::Invitation,
            invited.email,
            format!("{by} invites you to {team}"),
            &text,
        )
    }

    /// The letter to a user who wants to reset their password.
    pub fn reset(&self, to: &str, name: &str, url: &Secret) -> Letter {
        let name = line(name);
        let text = format!(
            "Hello {name},\n\n\
             somebody, probably you, wants to set a new password for your account.\n\n\
             To do it, follow this link. It is good once, for an hour, and the last one that we sent is the one that counts:\n\n\
             {}\n\n\
             If it was not you, do nothing: your password stays as it is.",
            url.reveal()
        );
        self.letter(Occasion::Reset, to, "Set a new password".to_owned(), &text)
    }

    /// The letter to the address that a user wants to have from now on.
    pub fn change_email(&self, to: &str, name: &str, url: &Secret) -> Letter {
        let name = line(name);
        let text = format!(
            "Hello,\n\n\
             {name} wants to sign in with this address from now on.\n\n\
             If that is you, follow this link, signed in as before. It is good once, for an hour:\n\n\
             {}\n\n\
             If it is not, do nothing: nothing changes, for nobody.",
            url.reveal()
        );
        self.letter(
            Occasion::ChangeEmail,
            to,
            "Is this your new address?".to_owned(),
            &text,
        )
    }

    /// The letter to a user whose address another user wants to have.
    pub fn email_taken(&self, to: &str) -> Letter {
        let text = "Hello,\n\n\
             somebody wants to change the email of another account to this address, which is yours already.\n\n\
             Nothing has changed. If it was you, sign in with this address to your account, or delete that before you use the \
             address elsewhere. If it was not, there is nothing to do.";
        self.letter(
            Occasion::EmailTaken,
            to,
            "This address is in use already".to_owned(),
            text,
        )
    }

    /// The letter to the address that a user had until now.
    pub fn email_changed(&self, to: &str, name: &str) -> Letter {
        let name = line(name);
        let text = format!(
            "Hello {name},\n\n\
             your account has another email from now on, so you do not sign in with this address any more.\n\n\
             If it was not you who changed it, somebody else has been in your account: tell whoever runs this server at once."
        );
        self.letter(
            Occasion::EmailChanged,
            to,
            "Your email was changed".to_owned(),
            &text,
        )
    }

    fn letter(&self, occasion: Occasion, to: &str, subject: String, text: &str) -> Letter {
        let origin = self.origin;
        Letter {
            occasion,
            to: to.to_owned(),
            subject,
            text: format!("{text}\n\n-- \nSent by {origin}\n"),
        }
    }
}

/// Typed text, as part of a line: step 3.
fn line(text: &str) -> String {
    let seen = text.split(is_gap).filter(|it| !it.is_empty());
    let seen: String = seen.collect::<Vec<_>>().join(" ");
    let seen: String = seen.chars().filter(|it| !is_unseen(*it)).collect();
    // A subject with `=?` would be read as an encoded word (RFC 2047, section 2).
    let seen = seen.replace("=?", "= ?");
    let mut parts = seen.grapheme_indices(true);
    match parts.nth(NAME) {
        // What a reader sees as one character may have very many code points.
        _ if seen.chars().count() > 4 * NAME => seen.chars().take(NAME).collect::<String>() + "…",
        Some((end, _)) => format!("{}…", &seen[..end]),
        None => seen,
    }
}

/// Characters that end a line, or look like it.
fn is_gap(it: char) -> bool {
    it.is_whitespace() || it.is_control()
}

/// Characters that change the direction of the text around them, take no room, or leave it empty: those that Unicode says are
/// ignored where they cannot be shown, marks of annotations, and the empty pattern of Braille.
pub(super) fn is_unseen(it: char) -> bool {
    const IGNORED: CodePointSetDataBorrowed<'static> =
        CodePointSetData::new::<DefaultIgnorableCodePoint>();
    IGNORED.contains(it) || matches!(it, '\u{2800}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_short_line_that_turns_nothing_around() {
        for (name, shown) in [
            ("Ada Lovelace", "Ada Lovelace"),
            ("Ada\r\nBcc: eve@example.com", "Ada Bcc: eve@example.com"),
            ("Ada\u{2028}\u{2029}\u{85}Lovelace", "Ada Lovelace"),
            ("\u{202e}ecalevoL adA\u{202c}", "ecalevoL adA"),
            ("A\u{200b}d\u{2066}a", "Ada"),
            ("a\0b", "a b"),
            ("Ada \"Countess\" <x>", "Ada \"Countess\" <x>"),
            ("=?utf-8?q?Bank?=", "= ?utf-8?q?Bank?="),
            ("", ""),
        ] {
            assert_eq!(line(name), shown, "{name:?}");
        }
        assert_eq!(line(&"ä".repeat(300)), format!("{}…", "ä".repeat(60)));
        assert_eq!(line(&"ä".repeat(60)), "ä".repeat(60));
        let marked = |count: usize| "a\u{301}\u{302}\u{303}".repeat(count);
        assert_eq!(line(&marked(60)), marked(60));
        let long = format!("{}\u{301}", marked(60));
        assert_eq!(line(&long).chars().count(), 61);
    }

    #[test]
    fn a_letter_has_its_link_and_says_what_to_do_otherwise() {
        let from = Letters {
            origin: "https://a.example",
        };
        let url = Secret::from_text("https://a.example/reset/x");
        let invited = Invited {
            email: "bo@b.example",
            by: "Ada",
            team: "Acme",
            role: Role::Viewer,
        };
        for (letter, links) in [
            (from.invitation(invited, &url), true),
            (from.reset("bo@b.example", "Bo", &url), true),
            (from.change_email("bo@b.example", "Bo", &url), true),
            (from.email_taken("bo@b.example"), false),
            (from.email_changed("bo@b.example", "Bo"), false),
        ] {
            assert_eq!(letter.to, "bo@b.example");
            assert_eq!(
                letter.text.contains("\nhttps://a.example/reset/x\n"),
                links,
                "{}",
                letter.text
            );
            assert!(letter.text.contains("If "), "{}", letter.text);
            assert!(
                letter.text.ends_with("Sent by https://a.example\n"),
                "{}",
                letter.text
            );
            assert!(!letter.subject.contains('\n'));
            assert!(!format!("{letter:?}").contains("http"), "{letter:?}");
        }
    }
}

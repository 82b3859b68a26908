//! Turns a letter into a message as SMTP takes it (RFC 5322): headers that lettre writes, so that no text becomes one, and
//! plain text in UTF-8.

use lettre::message::header::{ContentType, HeaderName, HeaderValue, MIME_VERSION_1_0};
use lettre::message::{Mailbox, Message};
use uuid::Uuid;

use crate::domain::letter::Letter;

/// Asks for no automatic answers (RFC 3834, section 5).
const AUTO_SUBMITTED: HeaderName = HeaderName::new_from_ascii_str("Auto-Submitted");

/// Returns the message. `host` is what its id ends with.
///
/// # Errors
/// When the address is one that no mail can be sent to.
pub(super) fn message(
    letter: Letter,
    from: &Mailbox,
    host: &str,
) -> Result<Message, Box<dyn std::error::Error + Send + Sync>> {
    let to = Mailbox::new(None, letter.to.parse()?);
    let id = format!("<{}@{host}>", Uuid::new_v4().simple());
    let automatic = HeaderValue::new(AUTO_SUBMITTED, "auto-generated".to_owned());
    let message = Message::builder()
        .from(from.clone())
        .to(to)
        .subject(letter.subject)
        .date_now()
        .message_id(Some(id))
        .raw_header(automatic)
        .header(MIME_VERSION_1_0)
        .header(ContentType::TEXT_PLAIN)
        .body(letter.text)?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::letter::{Invited, Letters};
    use crate::domain::member::Role;
    use crate::domain::secret::Secret;

    /// The headers of an invitation from a person with this name to a team with this name, as they are sent.
    fn headers(name: &str) -> Vec<String> {
        let from = Letters {
            origin: "https://a.example",
        };
        let invited = Invited {
            email: "bo@b.example",
            by: name,
            team: name,
            role: Role::Viewer,
        };
        let letter = from.invitation(invited, &Secret::from_text("https://a.example/x"));
        let sender = "Invoices <invoices@a.example>".parse().unwrap();
        let message = message(letter, &sender, "a.example").unwrap().formatted();
        let text = String::from_utf8(message).unwrap();
        assert!(text.is_ascii(), "{text}");
        assert!(!text.replace("\r\n", "").contains(['\r', '\n']), "{text:?}");
        let (headers, _) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            headers.split("\r\n").all(|line| line.len() <= 998),
            "{headers}"
        );
        let headers = headers.replace("\r\n ", " ");
        headers.split("\r\n").map(str::to_owned).collect()
    }

    #[test]
    fn no_name_becomes_a_header() {
        let names = |headers: &[String]| -> Vec<String> {
            let name = |line: &String| line.split(':').next().unwrap().to_owned();
            headers.iter().map(name).collect()
        };
        let usual = names(&headers("Ada"));
        for name in [
            "Ada\r\nBcc: eve@example.com",
            "Ada\nBcc: eve@example.com",
            "Ada\rBcc: eve@example.com",
            "Ada\r\n\r\nAn own text",
            "Ada\u{2028}Bcc: eve@example.com",
            "Ada\0",
            "\"Ada\" <eve@example.com>, eve@example.com",
            "=?utf-8?q?=0d=0aBcc:_eve@example.com?=",
            "\u{202e}moc.elpmaxe@eve",
            "Ädä Łövelåce 🦀",
            &"very long ".repeat(1000),
            &"verylong".repeat(1000),
            &"ä".repeat(1000),
            "",
        ] {
            let headers = headers(name);
            assert_eq!(names(&headers), usual, "{headers:?}");
            assert!(
                headers.contains(&"To: bo@b.example".to_owned()),
                "{headers:?}"
            );
        }
    }

    #[test]
    fn a_message_says_what_it_is_and_from_where() {
        let headers = headers("Ada");
        for begin in [
            "From: Invoices <invoices@a.example>",
            "Subject: Ada invites you to Ada",
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8",
            "Date: ",
            "Message-ID: <",
        ] {
            assert!(
                headers.iter().any(|line| line.starts_with(begin)),
                "{begin} in {headers:?}"
            );
        }
        assert!(
            headers
                .iter()
                .any(|line| line.ends_with("@a.example>") && line.starts_with("Message-ID"))
        );
    }
}

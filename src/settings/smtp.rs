//! The mail server and the sender of mail. The address may hold a password, and is therefore never printed.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use lettre::message::Mailbox;
use percent_encoding::percent_decode_str;

/// A mail server, written `smtps://[USER:PASSWORD@]HOST[:PORT]`, or `smtp://` with `?tls=required` for STARTTLS.
#[derive(Clone, PartialEq, Eq)]
pub struct SmtpUrl {
    host: String,
    port: u16,
    security: Security,
    credentials: Option<(String, String)>,
}

/// How the connection to the mail server is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Not at all: the server is on this machine.
    InClear,
    /// By STARTTLS, or nothing is sent.
    Required,
    /// By TLS from the first byte.
    Wrapped,
}

impl SmtpUrl {
    /// The name or the address of the server, an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How the connection is protected.
    pub fn security(&self) -> Security {
        self.security
    }

    /// A user and a password, if the server asks for them.
    pub fn credentials(&self) -> Option<&(String, String)> {
        self.credentials.as_ref()
    }
}

impl FromStr for SmtpUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXAMPLE: &str = "write something like smtps://USER:PASSWORD@mail.example.com, or \
             smtp://USER:PASSWORD@mail.example.com?tls=required for STARTTLS";
        let uri: http::Uri = text.parse().map_err(|_| EXAMPLE.to_owned())?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(EXAMPLE.into());
        };
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let is_here =
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback());
        let (security, usual_port) = match (scheme, uri.query()) {
            ("smtps", None) => (Security::Wrapped, 465),
            ("smtp", Some("tls=required")) => (Security::Required, 587),
            ("smtp", None) if is_here => (Security::InClear, 25),
            ("smtp", None) => {
                return Err(format!(
                    "links in mail are as good as passwords, and would travel in clear; {EXAMPLE}"
                ));
            }
            _ => return Err(EXAMPLE.into()),
        };
        if host.is_empty() || !["", "/"].contains(&uri.path()) || text.contains('#') {
            return Err(EXAMPLE.into());
        }
        let (user, place) = match authority.as_str().rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority.as_str()),
        };
        let port = match place == authority.host() {
            true => usual_port,
            false => authority.port_u16().ok_or(EXAMPLE)?,
        };
        let credentials = match user {
            Some(user) => Some(credentials(user).ok_or(EXAMPLE)?),
            None => None,
        };
        if credentials.is_some() && security == Security::InClear {
            return Err(format!("a password needs TLS; {EXAMPLE}"));
        }
        Ok(SmtpUrl {
            host,
            port,
            security,
            credentials,
        })
    }
}

/// A user and a password, in which characters that a URL cannot hold are percent-encoded, such as `%40`.
fn credentials(text: &str) -> Option<(String, String)> {
    let decoded = |part: &str| Some(percent_decode_str(part).decode_utf8().ok()?.into_owned());
    let (user, password) = text.split_once(':')?;
    Some((decoded(user)?, decoded(password)?))
}

impl fmt::Debug for SmtpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SmtpUrl({}:{})", self.host, self.port)
    }
}

/// The sender of mail, written `invoices@example.com` or `Invoices <invoices@example.com>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailFrom(Mailbox);

impl MailFrom {
    /// The name and the address.
    pub fn mailbox(&self) -> &Mailbox {
        &self.0
    }
}

impl FromStr for MailFrom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXAMPLE: &str =
            "write something like invoices@example.com, or Invoices <invoices@example.com>";
        let mailbox = text.parse().map(MailFrom).ok();
        let plain = mailbox.filter(|_| !text.contains(char::is_control));
        plain.ok_or_else(|| EXAMPLE.to_owned())
    }
}

/// What a server needs to send mail.
#[derive(Clone, Copy, Debug)]
pub struct MailSettings<'a> {
    /// The server that takes it.
    pub server: &'a SmtpUrl,
    /// Its sender.
    pub from: &'a MailFrom,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_server_is_an_address_whose_password_is_not_printed() {
        let url: SmtpUrl = "smtps://ada%40example.com:hunter2%2F@mail.example:2525"
            .parse()
            .unwrap();
        assert_eq!(format!("{url:?}"), "SmtpUrl(mail.example:2525)");
        let (user, password) = url.credentials().unwrap();
        assert_eq!((&**user, &**password), ("ada@example.com", "hunter2/"));
    }

    #[test]
    fn the_port_and_the_security_follow_from_how_it_is_written() {
        for (text, host, port, security) in [
            ("smtps://a.example", "a.example", 465, Security::Wrapped),
            ("smtps://u:p@[::2]/", "::2", 465, Security::Wrapped),
            (
                "smtp://u:p@a.example?tls=required",
                "a.example",
                587,
                Security::Required,
            ),
            ("smtp://localhost", "localhost", 25, Security::InClear),
            ("smtp://[::1]:1025", "::1", 1025, Security::InClear),
            (
                "smtp://127.0.0.1:1025",
                "127.0.0.1",
                1025,
                Security::InClear,
            ),
        ] {
            let url: SmtpUrl = text.parse().expect(text);
            assert_eq!(
                (url.host(), url.port(), url.security()),
                (host, port, security),
                "{text}"
            );
        }
    }

    #[test]
    fn what_would_travel_in_clear_or_means_nothing_is_refused() {
        for text in [
            "",
            "mail.example",
            "smtps://",
            "http://mail.example",
            "smtp://mail.example",
            "smtp://mail.example?tls=opportunistic",
            "smtp://u:p@[::1]:1025",
            "smtp://mail.example?tls=never",
            "smtps://mail.example?tls=opportunistic",
            "smtps://mail.example/path",
            "smtps://user@mail.example",
            "smtps://u:p%FF@mail.example",
            "smtps://mail.example:x",
        ] {
            let refused = text.parse::<SmtpUrl>().expect_err(text);
            assert!(refused.contains("smtps://USER:PASSWORD@"), "{refused}");
        }
    }

    #[test]
    fn a_sender_is_an_address_with_or_without_a_name() {
        for text in [
            "a@b.example",
            "Invoices <a@b.example>",
            "\"A, B\" <a@b.example>",
        ] {
            let from: MailFrom = text.parse().expect(text);
            assert_eq!(from.mailbox().email.to_string(), "a@b.example");
        }
        for text in [
            "",
            "a",
            "a@",
            "a@b.example, c@d.example",
            "a@b.example\r\nBcc: c@d.example",
        ] {
            text.parse::<MailFrom>().expect_err(text);
        }
    }
}

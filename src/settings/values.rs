//! The types of the settings: how each text is parsed, and the error when it is wrong.
//!
//! Every error here ends up after the name of the place where the text was written (`invoicing.toml:3: listen: ...`), so it
//! only states what is wrong and what to write instead.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;

/// Parses an address and a port to listen on. Names are not resolved, because they may have several addresses, except
/// `localhost`, which everyone writes; without an address, it is all IPv4 addresses of the machine.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let written = match text.rsplit_once(':') {
        Some(("localhost", port)) => format!("127.0.0.1:{port}"),
        Some(("", port)) => format!("0.0.0.0:{port}"),
        _ => text.to_owned(),
    };
    written
        .parse()
        .map_err(|_| "write ADDRESS:PORT, such as 127.0.0.1:8080 or [::]:8080".into())
}

/// Parses a whole number within two bounds.
pub(super) fn whole_number<const MIN: u32, const MAX: u32>(text: &str) -> Result<u32, String> {
    let number = text.parse().ok();
    number
        .filter(|number| (MIN..=MAX).contains(number))
        .ok_or_else(|| format!("write a whole number from {MIN} to {MAX}"))
}

/// An `http` or `https` address by which others reach this server, without a final slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

impl PublicUrl {
    /// The most characters: the document limits the links that start with it (`ShareLinkUrl`).
    const LENGTH: usize = 1_000;

    /// The address as text, to append a path to.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXAMPLE: &str = "write something like https://invoices.example.com";
        let uri: http::Uri = text
            .parse()
            .map_err(|_| format!("is not a URL; {EXAMPLE}"))?;
        // Not the scheme of `uri`, which may also be written in capitals.
        if !(text.starts_with("http://") || text.starts_with("https://")) {
            return Err(format!(
                "begins with neither http:// nor https://; {EXAMPLE}"
            ));
        }
        if text.len() > PublicUrl::LENGTH || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "is longer than {} characters, or has one that is not ASCII; {EXAMPLE}",
                PublicUrl::LENGTH
            ));
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.is_empty() || authority.contains('@') {
            return Err(format!("needs a host and no user name; {EXAMPLE}"));
        }
        if uri.host() != Some(authority) && uri.port().is_none() {
            return Err(format!("needs a port from 0 to 65535, or none; {EXAMPLE}"));
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(format!(
                "has a query or a fragment, which links cannot carry; {EXAMPLE}"
            ));
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Networks of trusted proxies, written as addresses and CIDR ranges, separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Whether `address` is one of them. An IPv4 address inside IPv6 (`::ffff:10.0.0.1`) counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }
}

impl FromStr for TrustedProxies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        text.split(',')
            .map(|entry| network(entry.trim()))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Parses one address or range; IPv4 inside IPv6 becomes IPv4.
fn network(text: &str) -> Result<IpNet, String> {
    let network = match text.parse::<IpAddr>() {
        Ok(address) => IpNet::from(address),
        Err(_) => text.parse::<IpNet>().map_err(|_| {
            format!("`{text}` is no address and no range; write something like 10.0.0.0/8 or ::1")
        })?,
    };
    if network.addr() != network.network() {
        let whole = network.trunc();
        return Err(format!(
            "`{text}` has bits behind its prefix; write {whole}"
        ));
    }
    match network.addr().to_canonical() {
        IpAddr::V4(address) if network.prefix_len() >= 96 => {
            let prefix = if network.addr().is_ipv6() {
                network.prefix_len() - 96
            } else {
                network.prefix_len()
            };
            // Cannot fail: an IPv6 prefix of 96 to 128 leaves 0 to 32.
            Ok(IpNet::new(address.into(), prefix).expect("a prefix of at most 32"))
        }
        _ => Ok(network),
    }
}

/// A length of time on the command line: a whole number and `s`, `m`, `h`, `d` or `w`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(Duration);

impl Span {
    /// The length of time.
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const LONGEST_DAYS: u64 = 36_500;
        let wrong = || "write a whole number and a unit, such as 30m, 12h, 7d or 2w".to_owned();
        let unit = text.chars().last().ok_or_else(wrong)?;
        let seconds: u64 = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            'w' => 604_800,
            _ => return Err(wrong()),
        };
        let number = &text[..text.len() - 1];
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let total = number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(seconds));
        match total {
            Some(0) => Err("must be longer than nothing".into()),
            Some(total) if total <= LONGEST_DAYS * 86_400 => Ok(Self(Duration::from_secs(total))),
            _ => Err(format!("must be at most {LONGEST_DAYS}d, a hundred years")),
        }
    }
}

/// A setting that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Toggle {
    /// The setting applies.
    On,
    /// The setting does not apply.
    Off,
}

/// The least severe message that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogLevel {
    /// Problems that need action: a bug, a lost database.
    Error,
    /// Problems that may need action: a certificate that could not be read again.
    Warn,
    /// Starts and stops, and one line per request.
    Info,
    /// Details that help to understand a problem.
    Debug,
}

impl LogLevel {
    /// The name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        }
    }
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// `terminal` when standard error is one, otherwise `json`.
    Auto,
    /// One JSON object per line.
    Json,
    /// Lines for people, with colours.
    Terminal,
}

impl LogFormat {
    /// The name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            LogFormat::Auto => "auto",
            LogFormat::Json => "json",
            LogFormat::Terminal => "terminal",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T: FromStr<Err = String> + fmt::Debug>(text: &str) -> String {
        text.parse::<T>().expect_err(text)
    }

    #[test]
    fn a_public_url_loses_its_final_slash_and_nothing_else() {
        let parsed = |text: &str| text.parse::<PublicUrl>().map(|url| url.to_string());
        assert_eq!(parsed("https://a.example/"), Ok("https://a.example".into()));
        assert_eq!(
            parsed("http://[::1]:8080/x/"),
            Ok("http://[::1]:8080/x".into())
        );
        for text in [
            "a.example",
            "ftp://a.example",
            "HTTPS://a.example",
            "https://a.example/ü",
            &format!("https://a.example/{}", "x".repeat(1_000)),
            "https://u:p@a.example",
            "https://a.example/?q",
            "",
        ] {
            refused::<PublicUrl>(text);
        }
        assert_eq!(parsed("http://[::1]/"), Ok("http://[::1]".into()));
        for text in ["https://a.example:99999/", "https://a.example:"] {
            assert!(refused::<PublicUrl>(text).contains("port"), "{text}");
        }
        assert!(refused::<PublicUrl>("https://a.example/#f").contains("fragment"));
    }

    #[test]
    fn trusted_proxies_are_ranges_and_addresses() {
        let proxies: TrustedProxies = "10.0.0.0/8, ::1,::ffff:192.0.2.0/120".parse().unwrap();
        for inside in [
            "10.1.2.3",
            "::1",
            "::ffff:10.1.2.3",
            "192.0.2.9",
            "::ffff:192.0.2.9",
        ] {
            assert!(proxies.contains(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["11.0.0.1", "::2", "192.0.3.1"] {
            assert!(!proxies.contains(outside.parse().unwrap()), "{outside}");
        }
        assert_eq!("".parse(), Ok(TrustedProxies::default()));
        assert!(refused::<TrustedProxies>("10.0.0.1/8").contains("10.0.0.0/8"));
        assert!(refused::<TrustedProxies>("10.0.0.0/8,,").contains("no address"));
        assert!(refused::<TrustedProxies>("localhost").contains("no address"));
    }

    #[test]
    fn a_span_is_a_whole_number_and_a_unit() {
        let seconds = |text: &str| text.parse::<Span>().map(|span| span.duration().as_secs());
        assert_eq!(seconds("90d"), Ok(7_776_000));
        assert_eq!(seconds("12h"), Ok(43_200));
        assert_eq!(seconds("1s"), Ok(1));
        assert_eq!(seconds("36500d"), Ok(3_153_600_000));
        for text in [
            "",
            "d",
            "7",
            "7 d",
            "-7d",
            "+7d",
            "1.5h",
            "7D",
            "7d7h",
            "7µ",
            "0d",
            "36501d",
            "99999999999999999999d",
        ] {
            refused::<Span>(text);
        }
    }
}

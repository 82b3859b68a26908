//! The cookies of the pages (docs/decisions.md, V1 to V3, P29 and P32).
//!
//! Their names start with `__Host-`, so a browser accepts them only from this host, over TLS, for all paths. On loopback
//! without TLS no browser would keep such a cookie, so the name has the port instead: cookies do not tell ports apart.

use http::HeaderValue;
use openapi_dropshot_runtime::header_value;

use super::site::Site;

/// A cookie of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cookie {
    /// Names the browser session; kept for as long as a session lasts at most.
    Session,
    /// Shows that a user has signed in here before; kept for as long as browsers keep anything.
    Device,
    /// Something to be shown once, on the next page.
    Once,
    /// Tells which browser asks to sign in by a passkey; kept for as long as a challenge is valid.
    Passkey,
    /// What goes with a browser to the OpenID provider and back.
    Provider,
    /// Shows that a user has signed in here by the provider before; kept for as long as browsers keep anything.
    Returning,
}

impl Cookie {
    fn seconds(self) -> u32 {
        const DAY: u32 = 24 * 60 * 60;
        match self {
            Cookie::Session => 90 * DAY,
            Cookie::Device | Cookie::Returning => 400 * DAY,
            Cookie::Once => 60,
            Cookie::Passkey => 5 * 60,
            Cookie::Provider => 10 * 60,
        }
    }

    /// Its name.
    pub(super) fn name(self, site: &Site) -> String {
        let suffix = match self {
            Cookie::Session => "",
            Cookie::Device => "-device",
            Cookie::Once => "-once",
            Cookie::Passkey => "-passkey",
            Cookie::Provider => "-provider",
            Cookie::Returning => "-returning",
        };
        match site.origin.is_secure() {
            true => format!("__Host-invoicing{suffix}"),
            false => format!("invoicing-{}{suffix}", site.origin.port()),
        }
    }

    /// The header that sets it.
    pub(super) fn set(self, site: &Site, value: &str) -> HeaderValue {
        self.header(site, value, self.seconds())
    }

    /// The header that clears it.
    pub(super) fn clear(self, site: &Site) -> HeaderValue {
        self.header(site, "", 0)
    }

    fn header(self, site: &Site, value: &str, seconds: u32) -> HeaderValue {
        let name = self.name(site);
        let secure = if site.origin.is_secure() {
            "; Secure"
        } else {
            ""
        };
        header_value(format_args!(
            "{name}={value}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Lax{secure}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(origin: &str) -> Site {
        Site::new(origin.parse().unwrap())
    }

    #[test]
    fn a_cookie_is_bound_to_its_host_and_on_loopback_to_its_port() {
        let set = |origin: &str| Cookie::Session.set(&site(origin), "x");
        assert_eq!(
            set("https://a.example"),
            "__Host-invoicing=x; Max-Age=7776000; Path=/; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(
            set("http://localhost:8080"),
            "invoicing-8080=x; Max-Age=7776000; Path=/; HttpOnly; SameSite=Lax"
        );
        let cleared = Cookie::Device.clear(&site("http://localhost:8080"));
        assert_eq!(
            cleared,
            "invoicing-8080-device=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"
        );
    }
}

//! A service with Ada, who owns a team, and the browsers that she uses.

use invoicing::app::sign_in::{Browser, Cookies, SignIn};
use invoicing::app::set_up::SetUp;
use invoicing::domain::Error;
use invoicing::domain::audit::{Person, Visitor};
use invoicing::domain::browser_session::InBrowser;
use invoicing::domain::secret::{Digest, Secret};

use super::super::support::Service;

pub const EMAIL: &str = "ada@example.com";
pub const PASSWORD: &str = "lantern harbour tulip nine";

/// A browser at that address, in which no user has signed in yet.
pub fn browser(address: &str) -> Browser {
    Browser {
        visitor: Visitor {
            address: address.parse().unwrap(),
            user_agent: Some("Browser/1".into()),
        },
        network: Digest::of(address.as_bytes()),
        device: None,
        session: None,
    }
}

/// Ada's form for setting up a service.
pub fn by_ada(link: &Secret) -> SetUp {
    SetUp {
        link: link.clone(),
        name: "Ada".into(),
        email: EMAIL.into(),
        password: Secret::from_text(PASSWORD),
        team: "Acme".into(),
        browser: browser("192.0.2.1"),
    }
}

pub async fn set_up(service: &Service, link: &Secret) -> Result<Cookies, Error> {
    service.app.set_up(by_ada(link)).await
}

/// A service with Ada, and her first browser.
pub async fn with_ada() -> (Service, InBrowser) {
    let service = Service::new().await;
    let link = service.app.create_set_up_link().await.unwrap().secret;
    let cookies = set_up(&service, &link).await.unwrap();
    let ada = look_up(&service, &cookies).await.unwrap();
    (service, ada)
}

pub async fn sign_in(
    service: &Service,
    email: &str,
    password: &str,
    browser: Browser,
) -> Result<Cookies, Error> {
    let attempt = SignIn {
        email: email.into(),
        password: Secret::from_text(password),
        browser,
    };
    service.app.sign_in(attempt).await
}

pub async fn look_up(service: &Service, cookies: &Cookies) -> Result<InBrowser, Error> {
    let presented = service.app.presented_cookie(cookies.session.reveal())?;
    service.app.look_up_cookie(presented).await
}

/// The person who is signed in in that browser, as one of its requests carries them.
pub fn person(in_browser: &InBrowser) -> Person {
    in_browser.person(browser("192.0.2.1").visitor)
}

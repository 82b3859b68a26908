//! A request for a page: who asks, from where, and for what.

use std::sync::{Arc, OnceLock};

use http::Method;
use http::header::{HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERER};

use super::cookies::Cookie;
use super::failure::Failure;
use super::site::Site;
use crate::app::App;
use crate::app::sign_in::Browser;
use crate::client_address::network;
use crate::domain::audit::{Actor, Person, Visitor};
use crate::domain::browser_session::InBrowser;
use crate::domain::holder::Holder;
use crate::domain::id::{TeamId, UserId};
use crate::domain::member::RoleRule;
use crate::domain::secret::{Digest, Secret};
use crate::http::{RequestContext, address, cookie, list_turn, visitor};
use crate::oidc::CALLBACK;

/// How many parameters of a query are read: each page has a few, and a query may have thirty thousand.
const PARAMETERS: usize = 100;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A request for a page.
pub(super) struct Visit {
    pub(super) context: Arc<RequestContext>,
    pub(super) site: Arc<Site>,
    /// The user who is signed in, if any.
    pub(super) in_browser: Option<InBrowser>,
    /// Whether GET of the same path shows a page.
    pub(super) has_page: bool,
    /// The team that the page is about, and the roles that may see it.
    team: OnceLock<(TeamId, RoleRule)>,
    /// The header with the session's new cookie, once the user has proven who they are: the one before is no longer valid,
    /// whatever is answered.
    renewed: OnceLock<HeaderValue>,
}

impl Visit {
    pub(super) fn new(
        context: Arc<RequestContext>,
        site: Arc<Site>,
        in_browser: Option<InBrowser>,
        has_page: bool,
    ) -> Visit {
        Visit {
            context,
            site,
            in_browser,
            has_page,
            team: OnceLock::new(),
            renewed: OnceLock::new(),
        }
    }

    /// Gives the browser the cookie of a session with the answer.
    pub(super) fn renew(&self, cookie: &Secret) {
        let header = Cookie::Session.set(&self.site, cookie.reveal());
        // A user proves who they are at most once in a request.
        _ = self.renewed.set(header);
    }

    /// Returns the header that does so.
    pub(super) fn renewed(&self) -> Option<&HeaderValue> {
        self.renewed.get()
    }

    pub(super) fn app(&self) -> &Arc<App> {
        &self.context.context().app
    }

    /// Returns the signed-in user.
    ///
    /// # Errors
    /// [`Failure::NotSignedIn`], which leads to the sign-in page and back.
    pub(super) fn signed_in(&self) -> Result<&InBrowser, Failure> {
        self.in_browser.as_ref().ok_or(Failure::NotSignedIn)
    }

    /// Returns on whose behalf something is done.
    ///
    /// # Errors
    /// As for [`signed_in`](Visit::signed_in).
    pub(super) fn person(&self) -> Result<Person, Failure> {
        Ok(self.signed_in()?.person(self.visitor()))
    }

    /// The same, for actions that others do, too.
    ///
    /// # Errors
    /// As for [`signed_in`](Visit::signed_in).
    pub(super) fn actor(&self) -> Result<Actor, Failure> {
        self.person().map(Actor::Person)
    }

    /// Returns the id of the signed-in user.
    ///
    /// # Errors
    /// As for [`signed_in`](Visit::signed_in).
    pub(super) fn user_id(&self) -> Result<UserId, Failure> {
        Ok(self.signed_in()?.user.id)
    }

    /// Returns the browser, for signing in.
    pub(super) fn browser(&self) -> Browser {
        let network = network(address(&self.context));
        Browser {
            visitor: self.visitor(),
            network: Digest::of(network.to_string().as_bytes()),
            device: self.cookie(Cookie::Device).map(Secret::from_text),
            session: self.in_browser.clone(),
        }
    }

    pub(super) fn cookie(&self, which: Cookie) -> Option<&str> {
        cookie(self.context.request.headers(), &which.name(&self.site))
    }

    /// Returns the cookie by which the next page of this team shows a secret once, to this session alone.
    ///
    /// # Errors
    /// As for [`signed_in`](Visit::signed_in).
    pub(super) fn once(&self, team_id: TeamId, secret: &Secret) -> Result<HeaderValue, Failure> {
        let value = self.for_once(team_id)? + secret.reveal();
        Ok(Cookie::Once.set(&self.site, &value))
    }

    /// Returns the secret to show once on a page of this team, if there is one.
    pub(super) fn shown_once(&self, team_id: TeamId) -> Option<&str> {
        let whose = self.for_once(team_id).ok()?;
        self.cookie(Cookie::Once)?.strip_prefix(&whose)
    }

    /// Returns what stands before such a secret.
    fn for_once(&self, team_id: TeamId) -> Result<String, Failure> {
        let session_id = self.signed_in()?.session.id;
        Ok(format!("{session_id}.{team_id}."))
    }

    /// Returns a parameter of the query: the first one of that name, among the first [`PARAMETERS`].
    pub(super) fn query(&self, name: &str) -> Option<String> {
        parameter(self.context.request.uri().query()?, name)
    }

    /// Notes that the page is about a team, for those with a role that `may` see it.
    pub(super) fn is_about(&self, team_id: TeamId, may: RoleRule) {
        // The same one, if it is noted again.
        _ = self.team.set((team_id, may));
    }

    /// Returns the team that the page is about, if any, and the roles that may see it.
    pub(super) fn about(&self) -> Option<(TeamId, RoleRule)> {
        self.team.get().copied()
    }

    /// Waits for a turn to make a long page of a team, which is read for `reader`: the team, or the user.
    ///
    /// # Errors
    /// When too many wait for one, or it takes too long; and as for [`signed_in`](Visit::signed_in).
    pub(super) async fn list_turn(
        &self,
        team_id: TeamId,
        reader: impl Into<Holder>,
    ) -> Result<(), Failure> {
        let reader = reader.into();
        Ok(list_turn(&self.context, self.signed_in()?, team_id, reader).await?)
    }

    /// Waits for a turn to make a long page that the user has of their own.
    ///
    /// # Errors
    /// As for [`list_turn`](Visit::list_turn), and for [`signed_in`](Visit::signed_in).
    pub(super) async fn own_page_turn(&self) -> Result<(), Failure> {
        let user_id = self.user_id()?;
        Ok(self.context.context().own_page_turn(user_id).await?)
    }

    /// Refuses a user who is no longer signed in, or may no longer see pages of the team that this one is about; a visitor who
    /// was not signed in is let through.
    ///
    /// # Errors
    /// [`Failure::NotSignedIn`], [`Failure::NotFound`], [`Error::RoleInsufficient`](crate::domain::Error::RoleInsufficient); any store error.
    pub(super) async fn require_reader(&self) -> Result<(), Failure> {
        let Some(InBrowser { user, session, .. }) = &self.in_browser else {
            return Ok(());
        };
        let required = self
            .app()
            .require_reader(user.id.into(), user.id, session.id, self.about());
        Ok(required.await?)
    }

    /// Returns what was asked for, to come back to it.
    pub(super) fn path_and_query(&self) -> &str {
        let uri = self.context.request.uri();
        uri.path_and_query().map_or("/", |it| it.as_str())
    }

    fn visitor(&self) -> Visitor {
        visitor(&self.context)
    }

    /// Refuses a change that no page of ours has asked for (docs/decisions.md, V6): a browser says where a request comes
    /// from, and no page can make it say anything else.
    ///
    /// # Errors
    /// [`Failure::OtherOrigin`].
    pub(super) fn require_own_origin(&self) -> Result<(), Failure> {
        let request = &self.context.request;
        match is_safe(request.method()) || is_own(request.headers(), self.site.origin.as_str()) {
            true => Ok(()),
            false => Err(Failure::OtherOrigin),
        }
    }

    /// Refuses a download that another site has asked for. Its window stays with that site while a download begins there, and
    /// would be ours with any other answer: so the site would learn whether its visitor may have the file.
    ///
    /// # Errors
    /// [`Failure::DownloadFromElsewhere`].
    pub(super) fn require_no_other_site(&self) -> Result<(), Failure> {
        let site = self.context.request.headers().get(&SEC_FETCH_SITE);
        match site.is_none_or(|it| it == "same-origin" || it == "none") {
            true => Ok(()),
            false => Err(Failure::DownloadFromElsewhere),
        }
    }

    /// Refuses a way to the OpenID provider on which another site has sent the user. A browser that does not say where a
    /// request comes from sends the address of the page, as our `Referrer-Policy` asks.
    ///
    /// # Errors
    /// [`Failure::OtherOrigin`].
    pub(super) fn require_own_link(&self) -> Result<(), Failure> {
        let headers = self.context.request.headers();
        match is_own_link(headers, self.site.origin.as_str()) {
            true => Ok(()),
            false => Err(Failure::OtherOrigin),
        }
    }

    /// Returns the page from which this was asked for, to come back to it: after a form, the one that it was on.
    pub(super) fn page(&self) -> String {
        let asked = self.path_and_query();
        let (path, query) = asked.split_at(asked.find('?').unwrap_or(asked.len()));
        let page = match self.context.request.method().is_safe() || self.has_page {
            true => path,
            // What only takes forms lies below the page that has them.
            false => path.rsplit_once('/').map_or("/", |(page, _)| page),
        };
        format!("{page}{query}")
    }
}

fn parameter(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    // However a name is encoded, a byte of it takes three at most. Longer ones are not decoded: a query may have 60 KB.
    let may_be_it = |pair: &&str| pair.find('=').unwrap_or(pair.len()) <= 3 * name.len();
    pairs
        .take(PARAMETERS)
        .filter(may_be_it)
        .flat_map(|pair| form_urlencoded::parse(pair.as_bytes()))
        .find(|(it, _)| it == name)
        .map(|(_, value)| value.into_owned())
}

fn is_own_link(headers: &HeaderMap, origin: &str) -> bool {
    match (headers.get(&SEC_FETCH_SITE), headers.get(REFERER)) {
        (Some(site), _) => site == "same-origin",
        (None, Some(page)) => {
            let page = page.to_str().unwrap_or_default();
            let path = page.strip_prefix(origin);
            path.is_some_and(|path| path.starts_with('/'))
        }
        (None, None) => false,
    }
}

fn is_safe(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

fn is_own(headers: &HeaderMap, origin: &str) -> bool {
    let sent = |name: &HeaderName| {
        let mut values = headers.get_all(name).iter();
        let first = values.next();
        first.map(|it| (it.as_bytes(), values.next().is_none()))
    };
    match (sent(&SEC_FETCH_SITE), sent(&ORIGIN)) {
        (Some(site), _) => site == (b"same-origin", true),
        (None, Some(sent)) => sent == (origin.as_bytes(), true),
        (None, None) => false,
    }
}

/// Returns the text if it is a way back: a path of this server with its query, and nothing that a browser could take for
/// another host. A path that leads on to the provider is none: what follows a form of ours looks like a link of ours, but
/// the way back does not come from us.
pub(super) fn way_back(text: &str) -> Option<&str> {
    const LENGTH: usize = 8_000;
    let is_path = text.starts_with('/') && !text.starts_with("//");
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\' && byte != b'#';
    let parsed = || text.parse::<http::Uri>().ok();
    let fits = text.len() <= LENGTH && text.bytes().all(is_plain);
    let stays = |uri: http::Uri| {
        let path = uri.path();
        uri.authority().is_none() && !has_dots(path) && !leads_on(path)
    };
    (is_path && fits && parsed().is_some_and(stays)).then_some(text)
}

/// Returns whether a browser would go to another path, since it resolves `.` and `..` before it asks, however they are
/// encoded (URL Standard, 4.4, "path state").
fn has_dots(path: &str) -> bool {
    let is_dots = |segment: &str| {
        let segment = segment.to_ascii_lowercase().replace("%2e", ".");
        segment == "." || segment == ".."
    };
    path.split('/').any(is_dots)
}

/// Returns whether the path is of a page that leads to the provider, or back from there. A path that is spelled in another
/// way is none.
fn leads_on(path: &str) -> bool {
    path == "/account/link" || path == CALLBACK || path.ends_with("/provider")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_comes_from_a_page_of_ours() {
        let origin = "https://a.example";
        for (lines, own) in [
            (&[("sec-fetch-site", "same-origin")][..], true),
            (
                &[("sec-fetch-site", "same-origin"), ("origin", "null")],
                true,
            ),
            (
                &[("sec-fetch-site", "same-site"), ("origin", origin)],
                false,
            ),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("sec-fetch-site", "")], false),
            (
                &[
                    ("sec-fetch-site", "same-origin"),
                    ("sec-fetch-site", "cross-site"),
                ],
                false,
            ),
            (&[("origin", origin)], true),
            (&[("origin", "https://a.example:444")], false),
            (&[("origin", "http://a.example")], false),
            (&[("origin", "null")], false),
            (&[("origin", origin), ("origin", origin)], false),
            (&[], false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.append(*name, value.parse().unwrap());
            }
            assert_eq!(is_own(&headers, origin), own, "{lines:?}");
        }
    }

    #[test]
    fn a_parameter_is_the_first_one_of_its_name_among_a_hundred() {
        let others = "&".to_owned() + &"x=1&".repeat(99);
        for (query, value) in [
            ("a=1&id=2&id=3", Some("2")),
            ("&&%69%64=%C3%BC+b%3D", Some("ü b=")),
            ("id", Some("")),
            ("id=", Some("")),
            ("ID=1&idx=2&i=3&%69%64%78=4", None),
            (&format!("{others}id=1"), Some("1")),
            (&format!("{others}x=1&id=1"), None),
            ("", None),
        ] {
            assert_eq!(parameter(query, "id").as_deref(), value, "{query}");
        }
    }

    #[test]
    fn a_link_of_ours_is_followed_from_a_page_of_ours() {
        for (name, value, own) in [
            ("sec-fetch-site", "same-origin", true),
            ("sec-fetch-site", "same-site", false),
            ("sec-fetch-site", "cross-site", false),
            ("sec-fetch-site", "none", false),
            ("referer", "https://a.example/account", true),
            ("referer", "https://a.example.b.example/", false),
            ("referer", "https://b.example/https://a.example/", false),
            ("x-other", "1", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.append(name, value.parse().unwrap());
            assert_eq!(is_own_link(&headers, "https://a.example"), own, "{value}");
            // What a browser says of the site takes precedence over the page.
            headers.append("referer", "https://a.example/".parse().unwrap());
            let own = own || name == "x-other";
            assert_eq!(is_own_link(&headers, "https://a.example"), own, "{value}");
        }
    }

    #[test]
    fn a_way_back_is_a_path_of_this_server() {
        for text in [
            "/",
            "/a/b?c=d&e=%2F",
            "/a?next=https://b.example",
            "/a.b/..c/...?d=/../e",
        ] {
            assert_eq!(way_back(text), Some(text));
        }
        for text in [
            "",
            "a",
            "//b.example",
            "///b.example",
            "/\\b.example",
            "\\/b.example",
            "https://b.example",
            "javascript:alert(1)",
            "/a\r\nset-cookie: b",
            "/\t/b.example",
            "/a#b",
            "/account/link",
            "/account/link?x",
            "/x/../account/link",
            "/./account/link",
            "/%2e%2E/account/link",
            "/x/.%2e/account/link",
            "/account/link/.",
            "/confirm/./provider",
            "/confirm/provider?next=/account",
            "/sign-in/provider",
            "/sign-in/callback?state=a",
            "/invitation/x/provider",
            "/ü",
            &format!("/{}", "x".repeat(9_000)),
        ] {
            assert_eq!(way_back(text), None, "{text}");
        }
    }
}

//! Finds out who calls, and limits how often: the first check of a request.
//!
//! 1. `Authorization: Bearer <credential>` (RFC 6750, section 2.1), once. The name of the scheme is
//!    compared without regard to case (RFC 9110, section 11.1).
//! 2. No credential, or one that was never issued: 401. The answer tells apart only whether one was sent at all (RFC 6750,
//!    section 3).
//! 3. A credential that has not been found valid recently is a stranger's. An address that has sent too many wrong ones is
//!    told to wait: 429. It is not a 401, since the credential has not been checked, and a client must not discard a valid
//!    one (docs/decisions.md, R8 and R9).
//! 4. While the server stops, the request is refused: 503 ([`traffic`]). Otherwise it needs a permit of the
//!    [concurrency limit](super::concurrency_limit), or is refused: 503. Looking up the credential is the first work done
//!    for it, and the permit is given back right after.
//! 5. A known caller counts against the limit of its key or session. The public token endpoint counts client addresses.
//! 6. A caller that leaves too much [unread](super::unsent) is refused: 503.
//! 7. While many requests arrive at once, it waits for its [turn](super::arrivals) to begin, if there is room for that.
//! 8. An [interceptor](super::interceptor), if the server has one, may delay the request or end it.

use std::net::IpAddr;

use http::Method;
use http::header::{AUTHORIZATION, COOKIE, HeaderMap, USER_AGENT};
use openapi_dropshot_runtime::Admitted;

use super::context::{Context, RequestContext};
use super::interceptor::Intercepted;
use super::rate_limit::rate_limit_headers;
use super::received::charge_head;
use super::rejection::{Credential, Error};
use crate::admin::Shortage;
use crate::app::{App, Presented};
use crate::client_address::{client_address, network};
use crate::domain;
use crate::domain::api_key::ApiKey;
use crate::domain::audit::Visitor;
use crate::domain::browser_session::InBrowser;
use crate::domain::holder::{Bearer, Holder};
use crate::domain::secret::Secret;
use crate::domain::session::SignedIn;
use crate::limit::{Policy, Verdict};
use crate::log::Caller;
use crate::traffic;

/// How many characters of a client's `User-Agent` are kept.
const USER_AGENT_LENGTH: usize = 512;

/// Admits the holder of an API key.
pub(super) async fn api_key(context: &RequestContext) -> Result<Admitted<ApiKey>, Error> {
    let presented = bearer(Credential::ApiKey, context.request.headers())?;
    let under_way = under_way(context)?;
    let presented = app(context).presented_api_key(presented);
    let from = || Some(address(context));
    let find = |presented| app(context).look_up_api_key(presented, from);
    let key = look_up(context, Credential::ApiKey, presented, find).await?;
    let limits = &context.context().limits;
    let (id, team, quota) = (key.id.0, key.team_id.0, limits.of_callers);
    let bearer = Bearer::from(&key);
    let verdict = limits.api_key(id, bearer.holder).await;
    let who = (Caller::ApiKey { id, team }, bearer);
    admit(context, under_way, key, who, verdict, quota).await
}

/// Admits a signed-in device.
pub(super) async fn access_token(context: &RequestContext) -> Result<Admitted<SignedIn>, Error> {
    let presented = bearer(Credential::AccessToken, context.request.headers())?;
    let under_way = under_way(context)?;
    let presented = app(context).presented_access_token(presented);
    let find = |presented| app(context).look_up_access_token(presented);
    let signed_in = look_up(context, Credential::AccessToken, presented, find).await?;
    let limits = &context.context().limits;
    let (id, quota) = (signed_in.user_id.0, limits.of_callers);
    let bearer = Bearer::from(&signed_in);
    let verdict = limits.session(signed_in.session_id.0, bearer.holder).await;
    let who = (Caller::User(id), bearer);
    admit(context, under_way, signed_in, who, verdict, quota).await
}

/// Refuses an API key that has ended since it was admitted.
pub(super) async fn require_api_key(context: &RequestContext, key: &ApiKey) -> Result<(), Error> {
    let valid = app(context).require_api_key(key).await;
    valid.map_err(|error| unauthenticated(Credential::ApiKey, error))
}

/// Refuses a request whose access token has ended since it was admitted.
pub(super) async fn require_access_token(context: &RequestContext) -> Result<(), Error> {
    let presented = bearer(Credential::AccessToken, context.request.headers())?;
    let token = Secret::from_text(presented);
    let found = app(context).authenticate_access_token(&token).await;
    let refused = |error| unauthenticated(Credential::AccessToken, error);
    found.map(drop).map_err(refused)
}

/// Admits any caller, as often as one client address may call.
pub(super) async fn anybody(context: &RequestContext) -> Result<Admitted<()>, Error> {
    let shared = context.context();
    let under_way = under_way(context)?;
    let address = address(context);
    let limits = &shared.limits;
    let verdict = limits.address(address).await;
    let who = (Caller::Unknown, of_network(address).into());
    let quota = limits.of_addresses;
    admit(context, under_way, (), who, verdict, quota).await
}

/// Admits a user signed in in a browser, by the cookie of that name; any other caller as often as one client address may
/// call.
pub(crate) async fn browser(
    context: &RequestContext,
    cookie: &str,
) -> Result<Admitted<Option<InBrowser>>, Error> {
    let Some(in_browser) = in_browser(context, cookie).await? else {
        let Admitted { headers, notes, .. } = anybody(context).await?;
        return Ok(Admitted {
            caller: None,
            headers,
            notes,
        });
    };
    let under_way = under_way(context)?;
    let limits = &context.context().limits;
    let (user_id, quota) = (in_browser.user.id.0, limits.of_browsers);
    let brings_form = context.request.method() == Method::POST;
    let (browser, now) = (&in_browser.session, app(context).now());
    let verdict = limits.browser(browser, now, brings_form).await;
    let who = (Caller::User(user_id), Bearer::from(&in_browser));
    admit(context, under_way, Some(in_browser), who, verdict, quota).await
}

/// Returns the user behind a cookie. An invalid cookie counts as none.
async fn in_browser(context: &RequestContext, cookie: &str) -> Result<Option<InBrowser>, Error> {
    let Some(text) = self::cookie(context.request.headers(), cookie) else {
        return Ok(None);
    };
    let presented = app(context).presented_cookie(text);
    let find = |presented| app(context).look_up_cookie(presented);
    match look_up(context, Credential::Cookie, presented, find).await {
        Ok(found) => Ok(Some(found)),
        Err(Error::Unauthenticated { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the value of a cookie (RFC 6265, section 5.4). HTTP/2 may send each cookie in a header of its own.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter();
    let mut pairs = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    // Other programs' cookies may have bytes that are not text.
    let value = pairs.find_map(|pair| {
        let pair = pair.trim_ascii();
        pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
    });
    value.and_then(|value| str::from_utf8(value).ok())
}

/// Returns the holder for a request without a credential.
pub(crate) fn stranger(context: &RequestContext) -> Holder {
    of_network(address(context))
}

/// Returns the holder for callers from this address.
fn of_network(address: IpAddr) -> Holder {
    Holder::Address(network(address))
}

pub(crate) fn address(context: &RequestContext) -> IpAddr {
    let (request, shared) = (&context.request, context.context());
    let peer = request.remote_addr().ip();
    client_address(peer, request.headers(), &shared.trusted_proxies)
}

/// Returns where a request comes from, and what its client calls itself.
pub(crate) fn visitor(context: &RequestContext) -> Visitor {
    let user_agent = context.request.headers().get(USER_AGENT);
    let user_agent = user_agent.and_then(|it| it.to_str().ok());
    Visitor {
        address: address(context),
        user_agent: user_agent.map(|it| it.chars().take(USER_AGENT_LENGTH).collect()),
    }
}

/// Registers the request as under way, unless the server is stopping.
fn under_way(context: &RequestContext) -> Result<traffic::Request, Error> {
    let traffic = &context.context().replica.traffic;
    traffic
        .request()
        .ok_or(Error::Overloaded(Shortage::Stopping))
}

fn app(context: &RequestContext) -> &App {
    &context.context().app
}

/// Step 1.
fn bearer(credential: Credential, headers: &HeaderMap) -> Result<&str, Error> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(Error::Unauthenticated {
            credential,
            sent: false,
        });
    };
    // What is not visible text is not a credential; the check of its form finds that out.
    let presented = str::from_utf8(value.as_bytes()).ok();
    let presented = presented.and_then(|value| value.split_once(' '));
    match presented {
        Some((scheme, presented))
            if scheme.eq_ignore_ascii_case("bearer") && values.next().is_none() =>
        {
            Ok(presented.trim_matches(' '))
        }
        _ => Err(Error::Unauthenticated {
            credential,
            sent: true,
        }),
    }
}

/// Steps 2 to 4: finds the caller behind a credential.
async fn look_up<P>(
    context: &RequestContext,
    credential: Credential,
    presented: Result<Presented, domain::Error>,
    find: impl AsyncFnOnce(Presented) -> Result<P, domain::Error>,
) -> Result<P, Error> {
    let refused = |error| unauthenticated(credential, error);
    let presented = presented.map_err(refused)?;
    let Context {
        limits,
        concurrency,
        ..
    } = context.context();
    let stranger = (presented.holder == Holder::Strangers).then(|| address(context));
    if let Some(verdict) = stranger.and_then(|address| limits.guess(address)) {
        let who = Box::new(Caller::Unknown);
        return Err(Error::RateLimited { verdict, who });
    }
    let found = async {
        let _permit = concurrency.acquire(presented.holder)?;
        find(presented).await.map_err(refused)
    };
    let found = found.await;
    let is_wrong = matches!(found, Err(Error::Unauthenticated { .. }));
    if let Some(address) = stranger.filter(|_| !is_wrong) {
        limits.was_no_guess(address);
    }
    found
}

/// Step 2.
fn unauthenticated(credential: Credential, error: domain::Error) -> Error {
    match error {
        domain::Error::InvalidToken => Error::Unauthenticated {
            credential,
            sent: true,
        },
        other => Error::Domain(other),
    }
}

/// Steps 5 to 8. `under_way` stays with the answer.
async fn admit<P>(
    context: &RequestContext,
    under_way: traffic::Request,
    caller: P,
    (who, bearer): (Caller, Bearer),
    verdict: Option<Verdict>,
    quota: Policy,
) -> Result<Admitted<P>, Error> {
    let mut admitted = Admitted::new(caller);
    admitted.notes.insert(who);
    admitted.notes.insert(bearer);
    admitted.notes.insert(under_way);
    if let Some(verdict) = verdict {
        if !verdict.allowed() {
            let who = Box::new(who);
            return Err(Error::RateLimited { verdict, who });
        }
        admitted.headers.extend(rate_limit_headers(&verdict));
    }
    let short = |shortage| Error::Short {
        shortage,
        verdict,
        who: Box::new(who),
    };
    let shared = context.context();
    if !shared.unsent.has_room(bearer) {
        return Err(short(Shortage::Answers));
    }
    // Without room to wait it begins at once: to refuse it would help nobody.
    if shared.arrivals.has_to_wait(bearer.holder)
        && let Some(_charge) = charge_head(context, &shared.beginning, bearer)
    {
        let turn = shared.arrivals.turn(bearer.holder);
        turn.await.map_err(short)?;
    }
    intercept(context, who, verdict, quota).await?;
    Ok(admitted)
}

/// Step 8.
async fn intercept(
    context: &RequestContext,
    who: Caller,
    verdict: Option<Verdict>,
    quota: Policy,
) -> Result<(), Error> {
    let Some(interceptor) = &context.context().interceptor else {
        return Ok(());
    };
    let headers = context.request.headers();
    match interceptor.intercept(headers, &context.log).await {
        Ok(()) => Ok(()),
        Err(Intercepted::RateLimited) => Err(Error::RateLimited {
            verdict: quota.used_up(),
            who: Box::new(who),
        }),
        Err(Intercepted::Error(error)) => Err(Error::Intercepted {
            error,
            verdict,
            who: Box::new(who),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The credential of these header lines, or whether one was sent.
    fn bearer_of(lines: &[&str]) -> Result<String, bool> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(AUTHORIZATION, line.parse().unwrap());
        }
        bearer(Credential::ApiKey, &headers)
            .map(str::to_owned)
            .map_err(|error| match error {
                Error::Unauthenticated { sent, .. } => sent,
                other => panic!("{other:?}"),
            })
    }

    #[test]
    fn the_scheme_is_compared_without_regard_to_case() {
        for line in ["Bearer abc", "bearer abc", "BEARER  abc "] {
            assert_eq!(bearer_of(&[line]), Ok("abc".to_owned()), "{line:?}");
        }
    }

    #[test]
    fn a_missing_credential_is_told_apart_from_a_wrong_one() {
        assert_eq!(bearer_of(&[]), Err(false));
        for lines in [
            &["Basic abc"][..],
            &["abc"],
            &["Bearer"],
            &["Bearer a", "Bearer a"],
            &[""],
        ] {
            assert_eq!(bearer_of(lines), Err(true), "{lines:?}");
        }
    }

    #[test]
    fn what_is_not_ascii_is_no_credential() {
        let given = |bytes: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.append(AUTHORIZATION, http::HeaderValue::from_bytes(bytes).unwrap());
            bearer(Credential::ApiKey, &headers).map(str::to_owned)
        };
        let refused = given(b"Bearer \xff");
        assert!(
            matches!(refused, Err(Error::Unauthenticated { sent: true, .. })),
            "{refused:?}"
        );
        // As long as an access token in bytes, and as long in characters.
        for text in [format!("{}a", "é".repeat(21)), "é".repeat(43)] {
            let presented = given(format!("Bearer {text}").as_bytes()).unwrap();
            assert!(!domain::api_key::is_well_formed(&presented), "{text}");
            assert!(!domain::secret::Secret::is_base64url(&presented), "{text}");
        }
    }
}

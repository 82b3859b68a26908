//! The state that all requests share.

use std::sync::Arc;

use http::header::HeaderValue;
use openapi_dropshot_runtime::Rejection;
use slog::Logger;
use tokio::runtime::Handle;

use super::arrivals::Arrivals;
use super::checks::Checks;
use super::concurrency_limit::ConcurrencyLimit;
use super::cors::Cors;
use super::interceptor::Interceptor;
use super::places::Places;
use super::rejection::Error;
use super::turns::{self, Apart};
use super::unsent::Unsent;
use crate::admin::ReplicaState;
use crate::admin::metrics::Load;
use crate::app::App;
use crate::budget::Budget;
use crate::domain::holder::Holder;
use crate::domain::id::{TeamId, UserId};
use crate::limit::Limits;
use crate::oidc::Provider;
use crate::settings::{Settings, TrustedProxies};
use crate::trace::Traces;

/// The state that all requests share.
pub struct Context {
    pub(crate) app: Arc<App>,
    pub(super) limits: Limits,
    pub(crate) concurrency: ConcurrencyLimit,
    /// The turns in which requests begin while many arrive.
    pub(super) arrivals: Arrivals,
    /// The turns in which lists are made.
    lists: Apart,
    /// The turns in which pages are made that users have of their own.
    own_pages: Apart,
    /// The bodies that are on their way, and the heads of their requests.
    pub(super) bodies: Arc<Budget>,
    /// The heads of requests that wait to begin. Not among the bodies: a caller's own would be refused for these.
    pub(super) beginning: Arc<Budget>,
    /// The heads of those that wait to make a list, apart from these for the same reason.
    pub(super) listing: Arc<Budget>,
    /// The turns in which those are checked that may take long.
    pub(super) checks: Checks,
    /// Places for the bodies of addresses that have no room there.
    pub(super) places: Places,
    pub(super) unsent: Unsent,
    pub(super) trusted_proxies: TrustedProxies,
    pub(crate) replica: Arc<ReplicaState>,
    pub(super) hsts: Option<HeaderValue>,
    pub(super) cors: Option<Cors>,
    pub(super) log: Logger,
    pub(super) interceptor: Option<Box<dyn Interceptor>>,
    /// The OpenID provider by which people sign in, if there is one.
    pub(crate) provider: Option<Arc<Provider>>,
    /// Where traces are reported, if anywhere.
    pub(super) traces: Option<Arc<Traces>>,
}

/// A request as dropshot hands it over.
pub(crate) type RequestContext = dropshot::RequestContext<Context>;

/// Makes an answer. Whoever has waited meanwhile, such as for a body, a password to be compared or the database, may have lost
/// the right to it: if the request [has waited](turns::has_waited), `check` is asked.
///
/// # Errors
/// Any error of `make`, and of `check`.
pub(crate) async fn still_allowed<T, E>(
    make: impl Future<Output = Result<T, E>>,
    check: impl AsyncFnOnce(&T) -> Result<(), E>,
) -> Result<T, E> {
    let made = make.await?;
    if turns::has_waited() {
        check(&made).await?;
    }
    Ok(made)
}

impl Context {
    /// Waits for the next turn of this user to make a page that they have of their own ([`Apart`]).
    ///
    /// # Errors
    /// [`Error::Overloaded`] when too many wait, or it takes too long.
    pub(crate) async fn own_page_turn(&self, user_id: UserId) -> Result<(), Rejection<Error>> {
        self.next(&self.own_pages, user_id.into(), user_id.into())
            .await
    }

    /// The same for a list of this team, which is read for `reader`: the team itself, or the user who looks at it.
    ///
    /// # Errors
    /// The same.
    pub(super) async fn list_turn(
        &self,
        team_id: TeamId,
        reader: Holder,
    ) -> Result<(), Rejection<Error>> {
        self.next(&self.lists, team_id.into(), reader).await
    }

    async fn next(
        &self,
        turns: &Apart,
        holder: Holder,
        reader: Holder,
    ) -> Result<(), Rejection<Error>> {
        let waits = || self.app.waits_for_disk(reader);
        turns.next(holder, waits).await.map_err(Rejection::Error)
    }

    /// Returns the state of a server of `app`; requests are logged to `log`.
    pub async fn new(
        app: Arc<App>,
        settings: &Settings,
        replica: Arc<ReplicaState>,
        log: &Logger,
    ) -> Context {
        let bytes = settings.transfer_bytes();
        let concurrency = ConcurrencyLimit::new(settings.max_concurrent_requests);
        let (bodies, places) = (Budget::new(bytes), Places::new(bytes / 8));
        let (beginning, listing) = (Budget::new(bytes), Budget::new(bytes));
        let unsent = Unsent::new(bytes, Arc::clone(&replica.traffic));
        replica.metrics.load_is({
            let (permits, bodies) = (concurrency.clone(), Arc::clone(&bodies));
            let (places, answers) = (places.clone(), unsent.clone());
            let (beginning, listing) = (Arc::clone(&beginning), Arc::clone(&listing));
            move || Load {
                permits: permits.state(),
                bodies: bodies.state(),
                places: places.state(),
                beginning: beginning.state(),
                listing: listing.state(),
                answers: answers.state(),
            }
        });
        Context {
            app,
            limits: Limits::start(settings, &replica.metrics.limits, log).await,
            concurrency,
            arrivals: Arrivals::new(Handle::current()),
            lists: Apart::on(&settings.database),
            own_pages: Apart::of_users(&settings.database),
            bodies,
            beginning,
            listing,
            checks: Checks::default(),
            places,
            unsent,
            trusted_proxies: settings.trusted_proxies.clone(),
            replica,
            hsts: settings.hsts(),
            cors: Cors::new(&settings.cors_origins),
            log: log.clone(),
            interceptor: None,
            provider: None,
            traces: None,
        }
    }

    /// Sets the OpenID provider by which people sign in.
    pub(crate) fn signing_in_by(self, provider: Option<Arc<Provider>>) -> Context {
        Context { provider, ..self }
    }

    /// Sets where traces are reported.
    pub(crate) fn traced_by(self, traces: Option<Arc<Traces>>) -> Context {
        Context { traces, ..self }
    }

    /// Returns where traces are reported, if anywhere.
    pub(crate) fn traces(&self) -> Option<Arc<Traces>> {
        self.traces.clone()
    }

    /// Sets the interceptor that requests pass before their handlers.
    pub(crate) fn intercepted_by(self, interceptor: impl Interceptor + 'static) -> Context {
        Context {
            interceptor: Some(Box::new(interceptor)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::sleep;

    use super::super::turns::until_answered;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_took_long_is_sent_to_those_who_may_still_have_it() {
        let answered = async |looked_up: u64, took: u64, allowed: Result<(), &'static str>| {
            let make = async {
                sleep(Duration::from_millis(took)).await;
                Ok(took)
            };
            let check = async |_: &u64| allowed;
            let work = async {
                sleep(Duration::from_millis(looked_up)).await;
                still_allowed(make, check).await
            };
            until_answered(work).await
        };
        assert_eq!(answered(0, 50, Err("ended")).await, Ok(50));
        assert_eq!(answered(0, 52, Err("ended")).await, Err("ended"));
        assert_eq!(answered(52, 0, Err("ended")).await, Err("ended"));
        assert_eq!(answered(0, 52, Ok(())).await, Ok(52));
    }
}

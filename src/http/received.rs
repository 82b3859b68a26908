//! Requests whose bodies are on the way: how much memory they may take, and when they are worked on.
//!
//! 1. A request is charged to its caller from before its body is read until it has been checked, with all that it may hold
//!    ([`Budget`](crate::budget::Budget)). A form of a known caller is charged until it is dropped: it may wait for seconds until
//!    it is shown again, and so may those of hundreds of users. (A form with a file is not: few of them are read at once.)
//! 2. All client addresses together have a part of that, and an attacker with some forty of them can hold all of it for a
//!    few bytes, by bodies that do not come. So a request that is refused for that [takes the place](super::places) of
//!    another that has waited longer. A body that comes with its head, as that of an app does, has arrived before another
//!    can take its place.
//! 3. Bodies that may take long are checked in turns ([`checks`](super::checks)). Step 1 bounds how many wait for theirs.
//! 4. A request that waits for its turn to begin, or to make a list, is charged meanwhile, though it has no body: hundreds of
//!    each team may wait, each with sixteen kilobytes of headers.

use std::sync::Arc;

use dropshot::RequestInfo;
use openapi_dropshot_runtime::{Rejection, Request, Unchecked, json};

use super::concurrency_limit::Permit;
use super::context::{Context, RequestContext};
use super::form::{Form, UnreadForm};
use super::places::Place;
use super::rejection::Error;
use crate::admin::Shortage;
use crate::budget::{Budget, Charge};
use crate::client_address::surroundings;
use crate::domain::holder::{Bearer, Holder};
use crate::domain::id::TeamId;

/// The bytes that a request holds while it waits, besides its head and body: the stream or the buffers of its
/// connection, and what waits for it. Measured over HTTP/2: 12 KB in a release build, 20 KB in a debug build, and a part of
/// what a connection takes.
const WAITING: usize = 24 * 1024;

/// The bytes that a header holds meanwhile, besides its name and value: dropshot has all of them twice, 104 bytes each, and
/// h2 makes an allocation for each name and value.
const HEADER: usize = 300;

/// The most bytes of memory that the head of a request takes while it waits, such as for its body, with what waits for it.
fn price_of_head(request: &RequestInfo) -> usize {
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + HEADER);
    // The logger of the request has the path and query once more.
    let uri = request.uri();
    let path_and_query = uri.path().len() + uri.query().map_or(0, str::len);
    WAITING + 2 * path_and_query + headers.sum::<usize>()
}

/// Returns the request, once its body has arrived and all of it has been checked against the document, with a permit to work
/// on it.
///
/// # Errors
/// [`Error::Overloaded`] when `bearer` has too many requests on the way, or there is no permit for it; otherwise what is
/// wrong with the request.
pub(super) async fn received<R: Request>(
    context: &RequestContext,
    bearer: impl Into<Bearer>,
    request: Unchecked<R>,
) -> Result<(R, Permit), Rejection<Error>> {
    let (request, (), permit) = received_noting(context, bearer, request, |_, _| ()).await?;
    Ok((request, permit))
}

/// Returns the same, and what `note` makes of the request and of its body as it came.
///
/// # Errors
/// As for [`received`].
pub(super) async fn received_noting<R: Request, T>(
    context: &RequestContext,
    bearer: impl Into<Bearer>,
    request: Unchecked<R>,
    note: impl FnOnce(&R, &json::Value<'_>) -> T,
) -> Result<(R, T, Permit), Rejection<Error>> {
    let bytes = request.expected_bytes();
    let bearer = bearer.into();
    let checked = async {
        let arrived = request.arrived().await.map_err(Rejection::from)?;
        let checks = &context.context().checks; // step 3
        checks.check(bearer.holder, arrived, note).await
    };
    let received = waited_for(context, bearer, bytes, checked).await?;
    let (request, noted) = received.it;
    Ok((request, noted, received.permit))
}

/// Returns a form, once its body has arrived, with a permit to work on it.
///
/// # Errors
/// As for [`received`].
pub(crate) async fn received_form(
    context: &RequestContext,
    bearer: impl Into<Bearer>,
    form: UnreadForm,
) -> Result<(Form, Permit), Rejection<Error>> {
    let bearer = bearer.into();
    let is_kept = bearer.holder.is_known() && !form.has_file();
    // Its fields are there as they came, and once more as they are used.
    let bytes = form.expected_bytes() * if is_kept { 2 } else { 1 };
    let read = async { Ok(form.read().await?) };
    let received = waited_for(context, bearer, bytes, read).await?;
    let mut form = received.it;
    form.charge = received.charge.filter(|_| is_kept);
    Ok((form, received.permit))
}

/// Waits for the next turn of a team to make a list, or a page of one ([`Turns`](super::turns::Turns)), which is read for
/// `reader`. Meanwhile, the request is charged to its bearer: step 4.
///
/// # Errors
/// [`Error::Overloaded`] when too many wait, or it takes too long.
pub(crate) async fn list_turn(
    context: &RequestContext,
    bearer: impl Into<Bearer>,
    team_id: TeamId,
    reader: Holder,
) -> Result<(), Rejection<Error>> {
    let overloaded = Rejection::Error(Error::Overloaded(Shortage::Turns));
    let shared = context.context();
    let charge = charge_head(context, &shared.listing, bearer.into());
    let _charge = charge.ok_or(overloaded)?;
    shared.list_turn(team_id, reader).await
}

/// Step 4: charges a request for what it holds while it waits; `None` if `bearer` may not have that much.
pub(super) fn charge_head(
    context: &RequestContext,
    budget: &Arc<Budget>,
    bearer: Bearer,
) -> Option<Charge> {
    budget.charge(bearer, price_of_head(&context.request))
}

/// What has arrived.
struct Received<T> {
    it: T,
    /// What it was charged, unless it had a place of another.
    charge: Option<Charge>,
    permit: Permit,
}

/// Waits for a body of `bytes` bytes, and returns what it resolves to.
async fn waited_for<T>(
    context: &RequestContext,
    bearer: Bearer,
    bytes: usize,
    body: impl Future<Output = Result<T, Rejection<Error>>>,
) -> Result<Received<T>, Rejection<Error>> {
    let shared = context.context();
    let (it, charge) = match bytes {
        0 => (body.await?, None),
        bytes => arrived(context, bearer, bytes, body).await?,
    };
    let permit = shared.concurrency.acquire(bearer.holder);
    Ok(Received {
        it,
        charge,
        permit: permit.map_err(Rejection::Error)?,
    })
}

/// Steps 1 and 2, for a body that has any bytes.
async fn arrived<T>(
    context: &RequestContext,
    bearer: Bearer,
    bytes: usize,
    body: impl Future<Output = Result<T, Rejection<Error>>>,
) -> Result<(T, Option<Charge>), Rejection<Error>> {
    let shared = context.context();
    let overloaded = || Rejection::Error(Error::Overloaded(Shortage::Bodies));
    let stopping = || Rejection::Error(Error::Overloaded(Shortage::Stopping));
    let body = shared.replica.traffic.body(body);
    let bytes = bytes + price_of_head(&context.request);
    let (received, charge) = match OnItsWay::begin(shared, bearer, bytes).ok_or_else(overloaded)? {
        OnItsWay::Placed(place) => {
            let received = place.unless_taken(body).await.ok_or_else(overloaded)?;
            (received, None)
        }
        OnItsWay::Charged(charge) => (body.await, Some(charge)),
    };
    Ok((received.ok_or_else(stopping)??, charge))
}

/// What a request holds while its body is on the way.
enum OnItsWay {
    /// Step 1.
    Charged(Charge),
    /// Step 2.
    Placed(Place),
}

impl OnItsWay {
    /// Reserves `bytes` for a request of `bearer`, if it may have them.
    fn begin(shared: &Context, bearer: Bearer, bytes: usize) -> Option<OnItsWay> {
        if let Some(charge) = shared.bodies.charge(bearer, bytes) {
            return Some(OnItsWay::Charged(charge));
        }
        let Holder::Address(network) = bearer.holder else {
            return None;
        };
        let place = shared.places.take(surroundings(network), bytes);
        place.map(OnItsWay::Placed)
    }
}

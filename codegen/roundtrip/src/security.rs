//! Doors: who may open them, by credentials of every kind.

use dropshot::RequestContext;
use openapi_dropshot_runtime::{Admitted, ErrorAnswer, Operation, Rejection, Unchecked};

use crate::{Answered, Refused};

crate::generated!("security.rs");

/// All doors. They open to callers who send `good` for every scheme of an alternative.
pub enum Doors {}

/// The schemes of the first alternative that is good, with the scopes that were required.
fn admitted(
    context: &RequestContext<Answered>,
    operation: &'static Operation,
) -> Result<Admitted<()>, Refused> {
    let is_good = |it: &openapi_dropshot_runtime::Required| {
        let credential = it.scheme.credential(&context.request);
        credential.is_some_and(|it| it == "good")
    };
    let good = operation
        .security
        .iter()
        .find(|all| all.iter().all(is_good));
    let good = good.ok_or(Refused::Stranger)?;
    let told = good
        .iter()
        .map(|it| format!("{}{:?}", it.scheme.name, it.scopes));
    context.context().add(told.collect::<Vec<_>>().join("+"));
    Ok(Admitted::new(()))
}

macro_rules! hooks {
    ($($hook:ident)*) => {$(
        async fn $hook(
            context: &RequestContext<Answered>,
            operation: &'static Operation,
        ) -> Result<Admitted<()>, Refused> {
            admitted(context, operation)
        }
    )*};
}

macro_rules! handlers {
    ($($handler:ident $request:ident $answer:ident)*) => {$(
        async fn $handler(
            _: &RequestContext<Answered>,
            (): (),
            request: Unchecked<$request>,
        ) -> Result<$answer, Rejection<Refused>> {
            request.check().await?;
            Ok($answer::new())
        }
    )*};
}

impl SecurityApi for Doors {
    type Context = Answered;
    type Error = Refused;
    type Token = ();
    type QueryKeyOrHeaderKeyOrLogin = ();
    type CookieKeyAndHeaderKey = ();
    type Oauth = ();
    type PublicOrProvider = ();

    hooks! { token query_key_or_header_key_or_login cookie_key_and_header_key oauth public_or_provider }

    handlers! {
        by_any_key ByAnyKeyRequest ByAnyKeyAnswer
        by_both ByBothRequest ByBothAnswer
        by_scope ByScopeRequest ByScopeAnswer
        by_another_scope ByAnotherScopeRequest ByAnotherScopeAnswer
        by_anybody_or_provider ByAnybodyOrProviderRequest ByAnybodyOrProviderAnswer
        by_token ByTokenRequest ByTokenAnswer
    }

    /// Returns the status that the caller names.
    async fn take_step(
        _: &RequestContext<Answered>,
        request: Unchecked<TakeStepRequest>,
    ) -> Result<TakeStepAnswer, Rejection<Refused>> {
        let stuck = request.check().await?.body;
        let x_step = "x".to_owned();
        let closed = || types::Closed {
            seen: stuck.force.to_string(),
        };
        Ok(match stuck.force {
            201 => TakeStepAnswer::status_201(closed(), x_step),
            202 => TakeStepAnswer::status_202(closed(), x_step),
            204 => TakeStepAnswer::status_204(x_step),
            _ => TakeStepAnswer::status_200(stuck, x_step),
        })
    }

    async fn by_everybody(
        context: &RequestContext<Answered>,
        request: Unchecked<ByEverybodyRequest>,
    ) -> Result<ByEverybodyAnswer, Rejection<Refused>> {
        let ByEverybodyRequest {
            colours,
            floors,
            size,
        } = request.check().await?;
        context
            .context()
            .add(format!("{colours:?} {floors:?} {size:?}"));
        Ok(ByEverybodyAnswer::new())
    }

    fn closed(
        _: &RequestContext<Answered>,
        _: &'static Operation,
        rejection: Rejection<Refused>,
    ) -> ErrorAnswer<types::Closed> {
        let (status, violations) = crate::told(rejection);
        let seen = violations
            .iter()
            .map(|it| format!("{} {}", it.path, it.constraint));
        let seen = seen.collect::<Vec<_>>().join(", ");
        ErrorAnswer::new(status, types::Closed { seen })
    }

    /// Returns the body that the document lists, except for 401.
    fn closed_or_nothing_or_stuck(
        _: &RequestContext<Answered>,
        _: &'static Operation,
        rejection: Rejection<Refused>,
    ) -> ErrorAnswer<types::ClosedOrNothingOrStuck> {
        let body = match &rejection {
            Rejection::Request(_) => {
                let seen = "a request".to_owned();
                types::ClosedOrNothingOrStuck::Closed(types::Closed { seen })
            }
            Rejection::Error(Refused::Changed) => {
                types::ClosedOrNothingOrStuck::Stuck(types::Stuck { force: 3 })
            }
            Rejection::Error(_) => types::ClosedOrNothingOrStuck::Nothing,
        };
        ErrorAnswer::new(crate::told(rejection).0, body)
    }

    async fn fail(
        _: &RequestContext<Answered>,
        request: Unchecked<FailRequest>,
    ) -> Result<FailAnswer, Rejection<Refused>> {
        match request.check().await?.status {
            202 => Ok(FailAnswer::new()),
            204 => Ok(FailAnswer::new().status_204()),
            404 => Err(Refused::Missing.into()),
            412 => Err(Refused::Changed.into()),
            // By the document, a 401 has a body.
            _ => Err(Refused::Stranger.into()),
        }
    }

    async fn fail_without_a_word(
        _: &RequestContext<Answered>,
        request: Unchecked<FailWithoutAWordRequest>,
    ) -> Result<FailWithoutAWordAnswer, Rejection<Refused>> {
        request.check().await?;
        Err(Refused::Missing.into())
    }

    fn unlisted(
        _: &RequestContext<Answered>,
        _: &'static Operation,
        rejection: Rejection<Refused>,
    ) -> ErrorAnswer<()> {
        ErrorAnswer::new(crate::told(rejection).0, ())
    }
}

//! Serves pages: steps 1 to 4 and 7 of [`super`], which are the same for all of them.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use ::http::header::SET_COOKIE;
use ::http::{Method, Response};
use bytes::Bytes;
use dropshot::{
    ApiDescriptionRegisterError, ApiEndpoint, ApiEndpointVersions, Body, ExclusiveExtractor,
    HttpError, Path,
};
use futures::poll;
use openapi_dropshot_runtime::{Rejection, Remainder, without_body};
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::protect;
use super::cookies::Cookie;
use super::error;
use super::failure::Failure;
use super::site::Site;
use super::visit::Visit;
use crate::domain::holder::Bearer;
pub(super) use crate::http::NoVariables;
use crate::http::{
    self, Api, Context, Form, MULTIPART, Permit, RequestContext, URL_ENCODED, UnreadForm,
    UnreadUpload, Variables,
};

/// dropshot does not know HTML; this is for documents, and no document has these endpoints.
const JSON: &str = "application/json";

/// What a page returns.
pub(super) type Answer = Result<Response<Bytes>, Failure>;

/// A path with the secret of a link.
#[derive(Deserialize, JsonSchema)]
pub(super) struct TokenPath {
    pub(super) token: String,
}

/// A path with a team's id.
#[derive(Deserialize, JsonSchema)]
pub(super) struct TeamPath {
    pub(super) team: String,
}

/// A page that is being registered.
#[must_use = "without `and_no_more`, the router does not find it"]
pub(super) struct Route<'a> {
    api: &'a mut Api,
    site: &'a Arc<Site>,
    path: &'static str,
    allow: Vec<&'static str>,
}

impl<'a> Route<'a> {
    /// Starts with the page of this path.
    pub(super) fn new(api: &'a mut Api, site: &'a Arc<Site>, path: &'static str) -> Route<'a> {
        Route {
            api,
            site,
            path,
            allow: Vec::new(),
        }
    }

    /// Adds what GET shows; HEAD is answered like it, without the body. `name` is its name in metrics.
    ///
    /// # Errors
    /// When another endpoint has this path.
    pub(super) fn shows<P, F>(
        mut self,
        name: &'static str,
        show: impl Fn(Arc<Visit>, P) -> F + Clone + Send + Sync + 'static,
    ) -> Result<Self, ApiDescriptionRegisterError>
    where
        P: Variables,
        F: Future<Output = Answer> + Send + 'static,
    {
        self.api.operations.push(name);
        for method in [Method::GET, Method::HEAD] {
            let (site, path, show) = (Arc::clone(self.site), self.path, show.clone());
            let handler = move |context: RequestContext, variables: Path<P>| {
                let (site, show) = (Arc::clone(&site), show.clone());
                async move {
                    let is_head = *context.request.method() == Method::HEAD;
                    let variables = variables.into_inner();
                    let show = async move |visit: Arc<Visit>| {
                        let (_, _permit) = received(&visit, None).await?;
                        show(visit, variables).await
                    };
                    let rest = Remainder::dropped(&context.request);
                    let answer = serve(context, site, (path, name), true, rest, show).await;
                    Ok::<_, HttpError>(if is_head {
                        without_body(answer)
                    } else {
                        answer
                    })
                }
            };
            let id = format!("{method} {path}");
            let all = ApiEndpointVersions::All;
            let endpoint = ApiEndpoint::<Context>::new(id, handler, method, JSON, path, all);
            self.api.endpoints.register(endpoint.visible(false))?;
        }
        self.allow.extend(["GET", "HEAD"]);
        Ok(self)
    }

    /// Adds what POST does with a form from a page of ours. `name` is its name in metrics.
    ///
    /// # Errors
    /// When another endpoint has this path.
    pub(super) fn takes<P, F>(
        self,
        name: &'static str,
        take: impl Fn(Arc<Visit>, P, Form) -> F + Clone + Send + Sync + 'static,
    ) -> Result<Self, ApiDescriptionRegisterError>
    where
        P: Variables,
        F: Future<Output = Answer> + Send + 'static,
    {
        let take = move |visit: Arc<Visit>, variables, form: UnreadForm| {
            let take = take.clone();
            async move {
                let (form, _permit) = received(&visit, Some(form)).await?;
                take(visit, variables, form).await
            }
        };
        self.posts::<UnreadForm, _, _>(URL_ENCODED, name, take)
    }

    /// The same, for a form with a file, which is not read until `begin` allows it. What `begin` returns is kept until the
    /// answer is made.
    ///
    /// # Errors
    /// When another endpoint has this path.
    pub(super) fn takes_file<P, T, B, F>(
        self,
        name: &'static str,
        begin: impl Fn(Arc<Visit>, P) -> B + Clone + Send + Sync + 'static,
        take: impl Fn(Arc<Visit>, T, Form) -> F + Clone + Send + Sync + 'static,
    ) -> Result<Self, ApiDescriptionRegisterError>
    where
        P: Variables,
        T: Send,
        B: Future<Output = Result<T, Failure>> + Send + 'static,
        F: Future<Output = Answer> + Send + 'static,
    {
        let take = move |visit: Arc<Visit>, variables, form: UnreadForm| {
            let (begun, take) = (begin(Arc::clone(&visit), variables), take.clone());
            async move {
                let begun = begun.await?;
                let (form, _permit) = received(&visit, Some(form)).await?;
                take(visit, begun, form).await
            }
        };
        self.posts::<UnreadUpload, _, _>(MULTIPART, name, take)
    }

    fn posts<U, P, F>(
        mut self,
        media_type: &'static str,
        name: &'static str,
        take: impl Fn(Arc<Visit>, P, UnreadForm) -> F + Clone + Send + Sync + 'static,
    ) -> Result<Self, ApiDescriptionRegisterError>
    where
        U: ExclusiveExtractor + Into<UnreadForm> + Send + 'static,
        P: Variables,
        F: Future<Output = Answer> + Send + 'static,
    {
        self.api.operations.push(name);
        let (site, path) = (Arc::clone(self.site), self.path);
        let has_page = self.allow.contains(&"GET");
        let handler = move |context: RequestContext, variables: Path<P>, form: U| {
            let (site, take) = (Arc::clone(&site), take.clone());
            let (variables, mut form) = (variables.into_inner(), form.into());
            let remainder = form.remainder();
            let take = move |visit| take(visit, variables, form);
            async move {
                let of = (path, name);
                Ok::<_, HttpError>(serve(context, site, of, has_page, remainder, take).await)
            }
        };
        let (id, all) = (format!("POST {path}"), ApiEndpointVersions::All);
        let (method, media) = (Method::POST, media_type);
        let endpoint = ApiEndpoint::<Context>::new(id, handler, method, media, path, all);
        self.api.endpoints.register(endpoint.visible(false))?;
        self.allow.push("POST");
        Ok(self)
    }

    /// Refuses all other methods.
    pub(super) fn and_no_more(self) {
        self.api.methods.add(self.path, &self.allow.join(", "));
    }
}

/// Answers a request.
async fn serve<F>(
    context: RequestContext,
    site: Arc<Site>,
    of: (&'static str, &'static str),
    has_page: bool,
    remainder: Remainder,
    handle: impl FnOnce(Arc<Visit>) -> F,
) -> Response<Body>
where
    F: Future<Output = Answer>,
{
    let context = Arc::new(context);
    let visit = |in_browser| {
        let (context, site) = (Arc::clone(&context), Arc::clone(&site));
        Visit::new(context, site, in_browser, has_page)
    };
    let answer = async |in_browser| {
        let visit = Arc::new(visit(in_browser));
        let answered = answered(&visit, handle).await;
        Ok(protected(&visit, answered))
    };
    // A caller that is not admitted is not signed in.
    let fail = |rejection| protected(&visit(None), Err(Failure::from(rejection)));
    let session = Cookie::Session.name(&site);
    let admit = http::browser(&context, &session);
    http::serve(&context, of, remainder, admit, answer, fail).await
}

/// Handles a request.
async fn answered<F>(visit: &Arc<Visit>, handle: impl FnOnce(Arc<Visit>) -> F) -> Answer
where
    F: Future<Output = Answer>,
{
    visit.require_own_origin()?;
    let make = async {
        // In a box, as what a form needs is large, and the layers around it would each have it on the stack.
        match Box::pin(handle(Arc::clone(visit))).await {
            Err(Failure::Answered(page)) => Ok(*page),
            answered => answered,
        }
    };
    let check = async |answer: &Response<Bytes>| match answer.status().is_redirection() {
        true => Ok(()),
        false => visit.require_reader().await,
    };
    http::still_allowed(make, check).await
}

/// Step 4, and a permit to work on the request. The session may end while the form is on its way.
async fn received(visit: &Visit, form: Option<UnreadForm>) -> Result<(Form, Permit), Failure> {
    let bearer = match &visit.in_browser {
        Some(in_browser) => in_browser.into(),
        None => Bearer::from(http::stranger(&visit.context)),
    };
    let Some(form) = form else {
        let permit = visit.context.context().concurrency.acquire(bearer.holder);
        return Ok((Form::default(), permit.map_err(Rejection::Error)?));
    };
    let mut receiving = pin!(http::received_form(&visit.context, bearer, form));
    match poll!(&mut receiving) {
        Poll::Ready(received) => Ok(received?),
        Poll::Pending => {
            let received = receiving.await?;
            visit.require_reader().await?;
            Ok(received)
        }
    }
}

/// Step 7, and the error page if there is nothing else to show.
fn protected(visit: &Visit, answered: Answer) -> Response<Bytes> {
    let mut answer = answered.unwrap_or_else(|failure| error::answer(visit, failure));
    if let Some(renewed) = visit.renewed() {
        // Before what the page itself sets, such as a cleared cookie after signing out.
        let own: Vec<_> = answer
            .headers()
            .get_all(SET_COOKIE)
            .iter()
            .cloned()
            .collect();
        answer.headers_mut().insert(SET_COOKIE, renewed.clone());
        for cookie in own {
            answer.headers_mut().append(SET_COOKIE, cookie);
        }
    }
    protect(&visit.site, answer.headers_mut());
    answer
}

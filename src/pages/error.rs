//! The page that is shown when there is nothing else to show: the user may not, there is no such thing, or it did not work.

use askama::Template;
use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, Response, StatusCode};

use super::answer::{html, refused_as, see_other};
use super::failure::Failure;
use super::frame::Frame;
use super::text::encoded;
use super::visit::Visit;
use crate::http::problem;

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    frame: Frame,
    title: &'static str,
    message: String,
    /// What was asked for, if a link of ours leads there.
    download: Option<String>,
}

/// Returns the answer to a failure.
pub(super) fn answer(visit: &Visit, failure: Failure) -> Response<Bytes> {
    let mut headers = HeaderMap::new();
    let mut code = failure.code();
    let mut download = None;
    let (status, title, message) = match failure {
        Failure::NotSignedIn => return to_sign_in(visit),
        Failure::Answered(answer) => return *answer,
        Failure::OtherOrigin => (
            StatusCode::FORBIDDEN,
            "This did not come from our page",
            "The form or link is of another site, or the browser does not say from where it comes. Nothing was changed."
                .to_owned(),
        ),
        Failure::DownloadFromElsewhere => {
            download = Some(visit.path_and_query().to_owned());
            (
                StatusCode::FORBIDDEN,
                "This is a file of yours",
                "You come from another site, which must not learn whether there is one.".to_owned(),
            )
        }
        Failure::ImportTooSoon(wait) => {
            let seconds = wait.as_secs() + 1;
            headers.insert(RETRY_AFTER, seconds.into());
            (
                StatusCode::TOO_MANY_REQUESTS,
                "Your team has just imported a lot",
                format!(
                    "Everybody else waits while a file is imported, so the next may follow in {seconds} seconds. \
                     Nothing was changed, and the plan is kept: go back to it then."
                ),
            )
        }
        Failure::FileTooSoon(wait) => {
            let seconds = wait.as_secs();
            headers.insert(RETRY_AFTER, seconds.into());
            (
                StatusCode::TOO_MANY_REQUESTS,
                "Your team has just sent many files",
                format!("The next may follow in {seconds} seconds. Nothing was changed."),
            )
        }
        Failure::JoinTooSoon => {
            headers.insert(RETRY_AFTER, 60.into());
            (
                StatusCode::TOO_MANY_REQUESTS,
                "Many people have just joined this team",
                "Nothing was changed, and your link stays valid: go back, and try again in a minute."
                    .to_owned(),
            )
        }
        Failure::WrongApp(why) => (
            StatusCode::BAD_REQUEST,
            "The app cannot sign you in",
            format!("{why} Nothing was sent to it. Whoever makes the app can mend this."),
        ),
        Failure::PasswordsOff => (
            StatusCode::FORBIDDEN,
            "Passwords are switched off",
            "People sign in here in other ways, and nobody types or sets a password.".to_owned(),
        ),
        Failure::NotFound => (
            StatusCode::NOT_FOUND,
            "There is no such page",
            "The address is wrong, or you are signed in as somebody who may not see it.".to_owned(),
        ),
        Failure::Rejected(rejection) => {
            let problem = problem(&visit.context, rejection);
            let (status, of_problem, message, of_log) = problem.for_page();
            (headers, code) = (of_problem, Some(of_log));
            let title = match status {
                StatusCode::TOO_MANY_REQUESTS => "Too many requests",
                it if it.is_server_error() => "That did not work",
                _ => "That is not possible",
            };
            (status, title, format!("{message}."))
        }
    };
    let frame = Frame::of(visit);
    let page = ErrorPage {
        frame,
        title,
        message,
        download,
    };
    let mut answer = html(status, &page).unwrap_or_default();
    *answer.status_mut() = status;
    answer.headers_mut().extend(headers);
    refused_as(answer, code)
}

/// Redirects to the sign-in page, which leads back; after a form, to the page that it was on.
fn to_sign_in(visit: &Visit) -> Response<Bytes> {
    match visit.page().as_str() {
        "/" => see_other("/sign-in"),
        back => see_other(&format!("/sign-in?next={}", encoded(back))),
    }
}

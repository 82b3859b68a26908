//! The parameters of a request stay text on the consent page, and none of its forms leads anywhere
//! except to its app.

use super::*;
use crate::attacks::{CORPUS, ELSEWHERE, POLYGLOT, is_harmless};

#[tokio::test]
async fn no_parameter_of_a_good_request_becomes_markup() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    for value in CORPUS.into_iter().chain(ELSEWHERE).chain([POLYGLOT]) {
        for name in GOOD.map(|it| it.0).into_iter().chain(["scope", "prompt"]) {
            let asked = browser.get(&target(&[(name, value)])).await;
            let case = format!("{name}={value:?}");
            is_shown_or_told_to_the_app(&case, &asked);
        }
    }
}

#[tokio::test]
async fn no_field_of_the_page_that_asks_becomes_markup_or_leads_elsewhere() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    let page = browser.get(&target(&[])).await;
    let (request, user) = (field(&page, "request"), field(&page, "user"));
    for value in CORPUS.into_iter().chain(ELSEWHERE).chain([POLYGLOT]) {
        for changed in 0..3 {
            let mut fields = answered(&request, &user, "cancel");
            fields[changed].1 = value;
            let answer = browser.post(PATH, &fields).await;
            is_shown_or_told_to_the_app(&format!("{fields:?}"), &answer);
        }
        // A request that names another target.
        let other = query(&[("client_id", "app"), ("redirect_uri", value)]);
        for request in [other.clone(), format!("{request}&{other}")] {
            let answer = browser
                .post(PATH, &answered(&request, &user, "approve"))
                .await;
            is_shown_or_told_to_the_app(&request, &answer);
        }
    }
}

/// One of our pages, or an answer to the app: at the app's own address, with the value as one of its
/// parameters.
#[track_caller]
fn is_shown_or_told_to_the_app(case: &str, shown: &Shown) {
    let location = shown.location();
    match location.split_once('?') {
        Some((URI, told)) => {
            let allowed = |char: char| char.is_ascii_graphic() && !"<>\"'\\".contains(char);
            assert!(told.chars().all(allowed), "{case}: {location}");
        }
        _ => is_harmless(case, shown),
    }
}

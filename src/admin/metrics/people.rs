//! People: sign-ins, the tokens of their apps, and their letters.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use super::page::Page;
use crate::app::App;
use crate::app::counts::Counts;
use crate::mail;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SignIn {
    way: &'static str,
    outcome: &'static str,
}

pub(super) fn show(page: &mut Page<'_>, app: &App, mail: &mail::Counts) {
    show_sign_ins(page, app);
    show_tokens(page, app.counts());
    page.counter(
        "mails_sent",
        "Letters that the mail server has taken",
        mail.sent.get(),
    );
    page.counter(
        "mails_failed",
        "Letters that were given up, or could not be written",
        mail.failed.get(),
    );
    page.metric(
        "mails_waiting",
        None,
        "Letters that are on their way, or will be tried again",
        mail.waiting.clone(),
    );
}

fn show_sign_ins(page: &mut Page<'_>, app: &App) {
    let counts = app.counts();
    let sign_ins = Family::<SignIn, Counter>::default();
    for (way, of_way) in [
        ("password", &counts.password),
        ("passkey", &counts.passkey),
        ("provider", &counts.provider),
        ("link", &counts.link),
    ] {
        for (outcome, count) in [("good", &of_way.good), ("refused", &of_way.refused)] {
            let sign_in = SignIn { way, outcome };
            sign_ins.get_or_create(&sign_in).inc_by(count.get());
        }
    }
    page.metric(
        "sign_ins",
        None,
        "Sign-ins in browsers: sessions that began, and proofs that were refused",
        sign_ins,
    );
    let refused = app.refused_sign_ins();
    page.counters(
        "refused_sign_ins",
        "Wrong passwords, on accounts that somebody has and that nobody has",
        "account",
        [("known", refused.known()), ("unknown", refused.unknown())],
    );
}

fn show_tokens(page: &mut Page<'_>, counts: &Counts) {
    let tokens = &counts.tokens;
    page.counters(
        "tokens",
        "Requests of apps for tokens: pairs given for a code, for a refresh token, given once more; reused and refused ones",
        "outcome",
        [
            ("issued", tokens.issued.get()),
            ("refreshed", tokens.refreshed.get()),
            ("repeated", tokens.repeated.get()),
            ("reused", tokens.reused.get()),
            ("refused", tokens.refused.get()),
        ],
    );
}

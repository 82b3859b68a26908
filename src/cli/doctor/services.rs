//! The services that the server uses: Redis, the mail server, the OpenID provider, a trace collector.

use std::sync::Arc;

use super::Subject;
use super::finding::Finding;
use crate::limit;
use crate::mail;
use crate::oidc::Provider;
use crate::settings::{Origin, Settings, Toggle};
use crate::trace::Traces;

/// Whether Redis can run the script of the rate limits.
pub(super) async fn redis(subject: Arc<Subject>) -> Vec<Finding> {
    const CHECK: &str = "redis";
    let settings = &subject.settings;
    let Some(redis) = &settings.redis else {
        return vec![Finding::good(
            CHECK,
            "not set: each replica limits rates on its own",
        )];
    };
    if settings.rate_limit == Toggle::Off {
        let found = "redis is set, and rate_limit is off";
        return vec![Finding::warn(CHECK, found, "remove one of them")];
    }
    vec![match limit::check_redis(redis).await {
        Ok(()) => Finding::good(CHECK, "answers, and runs the script of rate limits"),
        Err(error) => {
            let found = format!("does not answer as it should: {error}");
            let to_do =
                "start it, or mend address and password; until then each replica limits on its own";
            Finding::bad(CHECK, found, to_do)
        }
    }]
}

/// Whether the mail server accepts our login.
pub(super) async fn mail(subject: Arc<Subject>) -> Vec<Finding> {
    const CHECK: &str = "mail";
    let Some(mail) = subject.settings.mail() else {
        return vec![Finding::good(
            CHECK,
            "not set: links are shown to whoever makes them",
        )];
    };
    let origin = subject.settings.origin().filter(Origin::may_sign_in);
    let Some(origin) = origin else {
        let found = "no mail is sent: it is for the pages, and there are none";
        return vec![Finding::warn(
            CHECK,
            found,
            "give origin, or remove smtp_url",
        )];
    };
    vec![match mail::check(mail, &origin).await {
        Ok(()) => Finding::good(CHECK, "the mail server lets us in; nothing was sent"),
        Err(error) => {
            let found = format!("the mail server cannot be used: {error}");
            let to_do = "look at its address, its certificate, user and password (smtp_url)";
            Finding::bad(CHECK, found, to_do)
        }
    }]
}

/// Whether the provider serves its metadata and its signing keys.
pub(super) async fn provider(subject: Arc<Subject>) -> Vec<Finding> {
    const CHECK: &str = "provider";
    let checked = match self::of(&subject.settings) {
        None => return vec![Finding::good(CHECK, "not set")],
        Some(Err(why)) => Err(why),
        Some(Ok(provider)) => {
            let checked = provider.check().await;
            checked
                .map(|()| provider.issuer().to_owned())
                .map_err(|error| error.to_string())
        }
    };
    vec![match checked {
        Ok(issuer) => Finding::good(CHECK, format!("{issuer} says who it is, and has keys")),
        Err(why) => {
            let to_do = "docs/provider.md says what each cause means";
            Finding::bad(CHECK, why, to_do)
        }
    }]
}

/// Whether the collector accepts spans.
pub(super) async fn collector(subject: Arc<Subject>) -> Vec<Finding> {
    const CHECK: &str = "collector";
    let Some(collector) = &subject.settings.otlp_endpoint else {
        return vec![Finding::good(CHECK, "not set: nobody is told of traces")];
    };
    vec![match Traces::check(collector.traces()).await {
        Ok(()) => Finding::good(CHECK, format!("{collector} takes spans")),
        Err(error) => {
            let found = format!("{collector} takes no spans: {error}");
            let to_do = "start it, or mend otlp_endpoint; requests are answered all the same";
            Finding::bad(CHECK, found, to_do)
        }
    }]
}

/// The provider of the settings; it is not contacted yet.
pub(super) fn of(settings: &Settings) -> Option<Result<Provider, String>> {
    let (oidc, origin) = (settings.oidc()?, settings.origin()?);
    Some(Provider::new(
        oidc,
        &origin,
        settings.max_concurrent_requests,
    ))
}

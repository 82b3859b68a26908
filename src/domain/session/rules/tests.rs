//! Tests each step of the protocol without a store. `tests/session/` has the tests with one.

use std::sync::Arc;

use super::*;
use crate::domain::auth_code::CodeChallenge;
use crate::domain::id::IdSource;
use crate::domain::secret::Secret;
use crate::domain::session::pair::PairDigests;
use crate::domain::session::underway::Watch;
use crate::domain::session::{Device, Session};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn ago(seconds: u64) -> Timestamp {
    NOW.before(Duration::from_secs(seconds))
}

fn id<Id: From<uuid::Uuid>>() -> Id {
    IdSource::default().next(NOW)
}

fn pair() -> PairDigests {
    PairDigests {
        access: Secret::base64url().digest(),
        refresh: Secret::base64url().digest(),
    }
}

mod code {
    use super::*;

    /// A code issued 59.999 seconds ago and an exchange that is valid in every respect.
    fn case() -> (KnownCode, CodeExchange) {
        let code = Secret::base64url().digest();
        let challenge = CodeChallenge::of(&Secret::from_text("verifier"));
        let issued = AuthCode {
            digest: code,
            user_id: id(),
            client_id: ClientId::new("app"),
            redirect_uri: "app:/cb".into(),
            challenge,
            expires_at: Timestamp::from_millis(NOW.as_millis() + 1),
        };
        let exchange = CodeExchange {
            code,
            challenge,
            redirect_uri: "app:/cb".into(),
            client_id: ClientId::new("app"),
            device: Device::default(),
            session_id: id(),
            pair: pair(),
            now: NOW,
        };
        let known = KnownCode {
            code: issued,
            session_id: None,
            generation: 0,
        };
        (known, exchange)
    }

    #[test]
    fn c5_a_good_exchange_signs_the_user_in() {
        let (known, exchange) = case();
        let ruling = rule_on_code(Some(&known), true, &exchange);
        assert_eq!(ruling, Ok(known.code.user_id));
    }

    #[test]
    fn c5_the_clock_of_whoever_issued_a_code_may_be_an_hour_ahead() {
        let (mut known, exchange) = case();
        known.code.expires_at = latest_code(NOW);
        let ruling = rule_on_code(Some(&known), true, &exchange);
        assert_eq!(ruling, Ok(known.code.user_id));
    }

    #[test]
    fn c3_an_unknown_client_is_invalid_client_whether_the_code_is_known_or_not() {
        let (known, exchange) = case();
        for known in [None, Some(&known)] {
            let ruling = rule_on_code(known, false, &exchange);
            assert_eq!(ruling, Err(GrantError::InvalidClient));
        }
    }

    #[test]
    fn c4_each_mismatch_is_refused_and_ends_nothing() {
        type Spoil = fn(&mut KnownCode, &mut CodeExchange);
        let wrongs: [(&str, Spoil); 6] = [
            ("60 seconds old", |known, _| known.code.expires_at = NOW),
            ("of a clock that was ahead", |known, _| {
                known.code.expires_at = Timestamp::from_millis(latest_code(NOW).as_millis() + 1);
            }),
            ("client", |_, exchange| {
                exchange.client_id = ClientId::new("other")
            }),
            ("redirect", |_, exchange| exchange.redirect_uri.push('/')),
            ("redirect case", |_, exchange| {
                exchange.redirect_uri = "APP:/cb".into()
            }),
            ("verifier", |_, exchange| {
                exchange.challenge = CodeChallenge::of(&Secret::from_text("another"));
            }),
        ];
        for (what, spoil) in wrongs {
            let (mut known, mut exchange) = case();
            spoil(&mut known, &mut exchange);
            let ruling = rule_on_code(Some(&known), true, &exchange);
            assert_eq!(ruling, Err(GrantError::InvalidGrant), "{what}");
        }
        let ruling = rule_on_code(None, true, &case().1);
        assert_eq!(ruling, Err(GrantError::InvalidGrant), "unknown code");
    }

    #[test]
    fn c2_a_used_code_ends_its_session_whatever_comes_with_it() {
        let session = id();
        for client_exists in [true, false] {
            let (mut known, mut exchange) = case();
            known.session_id = Some(session);
            known.code.expires_at = ago(3600);
            exchange.client_id = ClientId::new("other");
            let ruling = rule_on_code(Some(&known), client_exists, &exchange);
            assert_eq!(ruling, Err(GrantError::Reused(session)));
        }
    }
}

mod refresh {
    use super::*;

    /// An unspent token of a session bound to an installation, and a refresh that is valid in every respect.
    fn case() -> (KnownToken, Refresh) {
        let known = KnownToken {
            session_id: id(),
            user_id: id(),
            client_id: ClientId::new("app"),
            install_id: Some("phone".into()),
            created_at: ago(24 * 3600),
            expires_at: session_expires_at(ago(24 * 3600), ago(3600)),
            ended: false,
            spent_at: None,
            successor: None,
            written_by: None,
        };
        let refresh = Refresh {
            token: Secret::base64url().digest(),
            client_id: ClientId::new("app"),
            device: Device {
                install_id: Some("phone".into()),
                user_agent: None,
                client_address: None,
            },
            pair: pair(),
            sealed: Sealed::from_bytes(vec![1]),
            watch: Arc::default(),
            now: NOW,
        };
        (known, refresh)
    }

    /// The same, with the token spent this many milliseconds ago and its successor not presented yet.
    fn spent(millis_ago: i64) -> (KnownToken, Refresh) {
        let (mut known, refresh) = case();
        known.spent_at = Some(Timestamp::from_millis(NOW.as_millis() - millis_ago));
        known.successor = Some(Sealed::from_bytes(vec![2]));
        (known, refresh)
    }

    type Spoil = fn(&mut Refresh);
    const WRONG_BINDINGS: [(&str, Spoil); 4] = [
        ("client", |refresh| {
            refresh.client_id = ClientId::new("other")
        }),
        ("install", |refresh| {
            refresh.device.install_id = Some("tablet".into())
        }),
        ("install case", |refresh| {
            refresh.device.install_id = Some("Phone".into())
        }),
        ("no install", |refresh| refresh.device.install_id = None),
    ];

    #[test]
    fn r5_an_unspent_token_rotates() {
        let (known, refresh) = case();
        let ruling = rule_on_refresh(Some(&known), true, &refresh);
        assert_eq!(ruling, Ok(RefreshGrant::Rotate));
    }

    #[test]
    fn r5_a_session_without_an_install_id_takes_any() {
        for install_id in [None, Some("tablet".to_owned())] {
            let (mut known, mut refresh) = case();
            known.install_id = None;
            refresh.device.install_id = install_id;
            let ruling = rule_on_refresh(Some(&known), true, &refresh);
            assert_eq!(ruling, Ok(RefreshGrant::Rotate));
        }
    }

    #[test]
    fn r2_an_unknown_token_and_one_of_a_session_that_is_over_are_refused() {
        let (mut expired, refresh) = case();
        expired.expires_at = NOW;
        let (mut ended, _) = spent(1);
        ended.ended = true;
        for known in [None, Some(&expired), Some(&ended)] {
            let ruling = rule_on_refresh(known, true, &refresh);
            assert_eq!(ruling, Err(GrantError::InvalidGrant));
            let ruling = rule_on_refresh(known, false, &refresh);
            assert_eq!(ruling, Err(GrantError::InvalidClient));
        }
    }

    #[test]
    fn r4_a_wrong_binding_of_an_unspent_token_ends_nothing() {
        for (what, spoil) in WRONG_BINDINGS {
            let (known, mut refresh) = case();
            spoil(&mut refresh);
            let ruling = rule_on_refresh(Some(&known), true, &refresh);
            assert_eq!(ruling, Err(GrantError::InvalidGrant), "{what}");
        }
    }

    #[test]
    fn r6_a_spent_token_gets_its_pair_again_for_30_seconds() {
        for millis in [-5_000, 0, 29_999] {
            let (known, refresh) = spent(millis);
            let spent_at = known.spent_at.unwrap();
            let again = RefreshGrant::Repeat(Sealed::from_bytes(vec![2]), spent_at);
            let ruling = rule_on_refresh(Some(&known), true, &refresh);
            assert_eq!(ruling, Ok(again), "after {millis} ms");
        }
    }

    #[test]
    fn r7_a_spent_token_ends_the_session_after_30_seconds() {
        let (known, refresh) = spent(30_000);
        let ruling = rule_on_refresh(Some(&known), true, &refresh);
        assert_eq!(ruling, Err(GrantError::Reused(known.session_id)));
    }

    #[test]
    fn r6_a_token_spent_by_a_late_commit_gets_its_pair_again() {
        let (mut known, mut refresh) = spent(40_000);
        let mut watch = Watch::default();
        for seconds in (0..=55).rev().step_by(5) {
            watch.note(ago(seconds), vec![7]);
        }
        refresh.watch = Arc::new(watch);
        let again = RefreshGrant::Repeat(Sealed::from_bytes(vec![2]), known.spent_at.unwrap());
        let reused = GrantError::Reused(known.session_id);
        for (transaction, ruling) in [(7, Ok(again)), (8, Err(reused))] {
            known.written_by = Some(transaction);
            assert_eq!(rule_on_refresh(Some(&known), true, &refresh), ruling);
        }
    }

    #[test]
    fn r7_a_spent_token_ends_the_session_once_its_successor_was_presented() {
        let (mut known, refresh) = spent(1);
        known.successor = None;
        let ruling = rule_on_refresh(Some(&known), true, &refresh);
        assert_eq!(ruling, Err(GrantError::Reused(known.session_id)));
    }

    #[test]
    fn r7_a_spent_token_with_a_wrong_binding_ends_the_session_also_in_the_grace() {
        for (what, spoil) in WRONG_BINDINGS {
            let (known, mut refresh) = spent(1);
            spoil(&mut refresh);
            let ruling = rule_on_refresh(Some(&known), true, &refresh);
            assert_eq!(ruling, Err(GrantError::Reused(known.session_id)), "{what}");
        }
        let (known, refresh) = spent(1);
        let ruling = rule_on_refresh(Some(&known), false, &refresh);
        assert_eq!(ruling, Err(GrantError::Reused(known.session_id)));
    }
}

mod revocation {
    use super::*;

    fn known() -> KnownToken {
        KnownToken {
            session_id: id(),
            user_id: id(),
            client_id: ClientId::new("app"),
            install_id: Some("phone".into()),
            created_at: ago(3600),
            expires_at: NOW.after(Duration::from_secs(1)),
            ended: false,
            spent_at: None,
            successor: None,
            written_by: None,
        }
    }

    fn session() -> Session {
        Session {
            id: id(),
            user_id: id(),
            client_id: ClientId::new("app"),
            install_id: None,
            user_agent: None,
            created_at: ago(3600),
            last_used_at: ago(3600),
            expires_at: NOW.after(Duration::from_secs(1)),
        }
    }

    fn spent() -> KnownToken {
        KnownToken {
            spent_at: Some(ago(5)),
            ..known()
        }
    }

    /// The ruling on a token presented by a client, which may exist.
    fn ruled(
        known: Option<&KnownToken>,
        session: Option<&Session>,
        client: &str,
        exists: bool,
    ) -> Result<Option<SessionId>, GrantError> {
        rule_on_revocation(known, session, exists, &ClientId::new(client), NOW)
    }

    #[test]
    fn a_token_of_the_client_ends_its_session_spent_or_not() {
        for known in [known(), spent()] {
            assert_eq!(
                ruled(Some(&known), None, "app", true),
                Ok(Some(known.session_id))
            );
        }
        let session = session();
        assert_eq!(
            ruled(None, Some(&session), "app", true),
            Ok(Some(session.id))
        );
    }

    #[test]
    fn a_spent_token_of_another_client_ends_its_session() {
        let spent = spent();
        for (client, exists) in [("other", true), ("other", false), ("app", false)] {
            let reused = Err(GrantError::Reused(spent.session_id));
            assert_eq!(
                ruled(Some(&spent), None, client, exists),
                reused,
                "{client}"
            );
        }
    }

    #[test]
    fn a_token_of_another_client_is_refused_and_an_unknown_one_is_no_error() {
        let (unspent, session) = (known(), session());
        for (known, session) in [(Some(&unspent), None), (None, Some(&session))] {
            assert_eq!(
                ruled(known, session, "other", true),
                Err(GrantError::InvalidGrant)
            );
            assert_eq!(
                ruled(known, session, "app", false),
                Err(GrantError::InvalidClient)
            );
        }
        assert_eq!(ruled(None, None, "other", true), Ok(None));
        assert_eq!(
            ruled(None, None, "other", false),
            Err(GrantError::InvalidClient)
        );
    }

    #[test]
    fn a_token_of_a_session_that_is_over_is_unknown() {
        let ended = KnownToken {
            ended: true,
            ..spent()
        };
        let expired = KnownToken {
            expires_at: NOW,
            ..spent()
        };
        for known in [ended, expired] {
            for client in ["app", "other"] {
                assert_eq!(ruled(Some(&known), None, client, true), Ok(None));
            }
        }
    }
}

mod lifetimes {
    use super::*;

    const DAY: u64 = 24 * 3600;

    #[test]
    fn a_session_lives_30_days_from_a_refresh_and_90_in_all() {
        let began = ago(0);
        let day = |days| began.after(Duration::from_secs(days * DAY));
        for (refreshed, ends) in [(0, 30), (10, 40), (60, 90), (75, 90)] {
            assert_eq!(session_expires_at(began, day(refreshed)), day(ends));
        }
    }

    #[test]
    fn an_access_token_lives_an_hour_but_not_longer_than_its_session() {
        let began = ago(0);
        let at = |seconds| began.after(Duration::from_secs(seconds));
        assert_eq!(access_token_expires_at(began, at(5)), at(3605));
        assert_eq!(
            access_token_expires_at(began, at(90 * DAY - 60)),
            at(90 * DAY)
        );
    }
}

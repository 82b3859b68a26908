//! Groups of changes in which one fails, is refused, or waits: no other answer depends on it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::ApiKey;
use invoicing::domain::audit::Actor;
use invoicing::domain::id::ProductId;
use invoicing::domain::product::ProductChanges;
use invoicing::domain::time::SystemClock;
use invoicing::store::open;
use openapi_dropshot_runtime::Field;
use test_support::postgres::{Locked, ask};
use uuid::Uuid;

use super::groups::{CROWD, at_once, counted, counts, create, once, request};
use super::lost::{END_IT, at_commit, tries};
use super::relay::{Relay, migrated};
use super::support::{Service, live_key, plain, with_sku};

#[tokio::test]
async fn one_that_is_refused_takes_no_other_with_it() {
    let service = Service::new().await;
    let key = service.writer().await;
    let taken = service.app.create_product(&key, with_sku("S"), None).await;
    let id = taken.unwrap().value.id;
    // Fails in the database, by a rule after a query, and not at all.
    let made = at_once(CROWD, |number| {
        let (app, key) = (service.app.clone(), key.clone());
        async move {
            let request = request(format!("{number}"), "POST");
            match number % 8 {
                0 => app.create_product(&key, with_sku("S"), request).await,
                1 => {
                    let changes = ProductChanges {
                        unchanged_since: Some(super::support::START.before(Duration::from_secs(9))),
                        ..Default::default()
                    };
                    app.update_product(&key, id, changes, request).await
                }
                _ => app.create_product(&key, plain("A"), request).await,
            }
        }
    });
    let expected = counts([
        ("made", CROWD / 8 * 6),
        (Error::DuplicateSku.to_string().as_str(), CROWD / 8),
        (Error::ProductChanged.to_string().as_str(), CROWD / 8),
    ]);
    assert_eq!(counted(&made.await, once), expected);
    let products = ask(service.database().url(), "SELECT count(*) FROM product");
    assert_eq!(products, (CROWD / 8 * 6 + 1).to_string());
}

#[tokio::test]
async fn one_that_is_refused_before_it_has_written_undoes_nobody() {
    let service = Service::new().await;
    let key = service.writer().await;
    let taken = service.app.create_product(&key, with_sku("S"), None).await;
    let taken = taken.unwrap().value.id;
    // A product that does not exist, from the same author.
    let missing = ProductId::from(Uuid::nil());
    let made = at_once(CROWD, |number| {
        let (app, key) = (service.app.clone(), key.clone());
        async move {
            match number % 8 {
                0 => app.create_product(&key, with_sku("S"), None).await,
                1 => {
                    let changes = ProductChanges::default();
                    app.update_product(&key, missing, changes, None).await
                }
                _ => create(app, key, number).await,
            }
        }
    });
    let expected = counts([
        ("made", CROWD / 8 * 6),
        (Error::DuplicateSku.to_string().as_str(), CROWD / 8),
        (Error::ProductNotFound.to_string().as_str(), CROWD / 8),
    ]);
    assert_eq!(counted(&made.await, once), expected);
    let transactions = format!(
        "SELECT count(DISTINCT xmin::text) FROM product WHERE id <> '{}'",
        taken.0
    );
    let transactions: usize = ask(service.database().url(), &transactions)
        .parse()
        .unwrap();
    assert!(transactions <= CROWD / 8, "{transactions}");
}

#[tokio::test]
async fn who_may_not_any_more_is_refused_and_who_may_is_not() {
    let service = Service::new().await;
    let (ended, good) = (service.writer().await, service.writer().await);
    service
        .app
        .revoke_api_key(&Actor::Operator, ended.id)
        .await
        .unwrap();
    let keys = [ended, good];
    let made = at_once(CROWD, |number| {
        create(service.app.clone(), keys[number % 2].clone(), number)
    });
    let expected = counts([
        ("made", CROWD / 2),
        (Error::InvalidToken.to_string().as_str(), CROWD / 2),
    ]);
    assert_eq!(counted(&made.await, once), expected);
}

#[tokio::test]
async fn who_spoils_what_several_teams_say_together_goes_alone_and_they_do_not() {
    only_the_spoiler_goes_alone(&Service::new().await).await;
}

/// Commits wait for a standby, for one.
#[tokio::test]
async fn who_only_waits_for_the_commit_has_not_spoilt_the_group() {
    let service = Service::new().await;
    let slow = "
        CREATE FUNCTION wait_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF current_setting('test.waited', true) = 'yes' THEN RETURN NULL; END IF;
            PERFORM set_config('test.waited', 'yes', true), pg_sleep(0.25);
            RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER wait_once AFTER UPDATE ON product DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION wait_once()";
    ask(service.database().url(), slow);
    only_the_spoiler_goes_alone(&service).await;
}

async fn only_the_spoiler_goes_alone(service: &Service) {
    let mut products = Vec::new();
    for _ in 0..CROWD {
        let key = service.writer().await;
        let made = service.app.create_product(&key, plain("A"), None).await;
        products.push((key, made.unwrap().value.id));
    }
    let (spoiler, spoilt) = products[0].clone();
    let taken = service
        .app
        .create_product(&spoiler, with_sku("S"), None)
        .await;
    let taken = taken.unwrap().value.id;
    let patch = |number: usize| {
        let (app, (key, id)) = (service.app.clone(), products[number].clone());
        let changes = ProductChanges {
            sku: Field::Value("S".into()),
            ..Default::default()
        };
        async move { app.update_product(&key, id, changes, None).await }
    };
    let expected = counts([
        ("made", CROWD - 1),
        (Error::DuplicateSku.to_string().as_str(), 1),
    ]);
    let transactions = format!(
        "SELECT count(DISTINCT xmin::text) FROM product WHERE id NOT IN ('{spoilt}', '{taken}')"
    );
    // In the first round, the failing change is not known yet; and on a busy machine, others are slow, too, and go
    // alone for a while.
    let mut rounds = Vec::new();
    while rounds.len() < 2 || (rounds.len() < 10 && rounds[rounds.len() - 1] > CROWD / 4) {
        assert_eq!(counted(&at_once(CROWD, patch).await, once), expected);
        let transactions = ask(service.database().url(), &transactions);
        rounds.push(transactions.parse::<usize>().unwrap());
    }
    assert!(rounds[rounds.len() - 1] <= CROWD / 4, "{rounds:?}");
}

/// A product that another transaction has locked, until that is dropped.
async fn locked_product(service: &Service, key: &ApiKey) -> (ProductId, Locked) {
    let made = service.app.create_product(key, plain("A"), None).await;
    let id = made.unwrap().value.id;
    let lock = format!("UPDATE product SET id = id WHERE id = '{id}'");
    (id, Locked::by(service.database().url(), &lock))
}

#[tokio::test]
async fn those_who_shared_no_statement_with_the_spoiler_try_again_together() {
    let service = Service::new().await;
    let (slow, other) = (service.writer().await, service.writer().await);
    let (id, locked) = locked_product(&service, &slow).await;
    let made = at_once(CROWD, |number| {
        let (app, slow, other) = (service.app.clone(), slow.clone(), other.clone());
        async move {
            if number != CROWD / 2 {
                return create(app, other, number).await;
            }
            let changed = app.update_product(&slow, id, Default::default(), None);
            let changed = tokio::time::timeout(Duration::from_secs(1), changed).await;
            // It waits until it is given up.
            changed.unwrap_or(Err(Error::ProductNotFound))
        }
    });
    let expected = counts([
        ("made", CROWD - 1),
        (Error::ProductNotFound.to_string().as_str(), 1),
    ]);
    assert_eq!(counted(&made.await, once), expected);
    drop(locked);
    let transactions = format!("SELECT count(DISTINCT xmin::text) FROM product WHERE id <> '{id}'");
    let transactions = ask(service.database().url(), &transactions);
    let transactions: usize = transactions.parse().unwrap();
    assert!(transactions <= CROWD / 4, "{transactions}");
}

/// Two replicas get one request at the same time, and the other one is first to make the product and to keep its answer.
#[tokio::test]
async fn whose_request_another_replica_has_answered_meanwhile_undoes_nobody() {
    let service = Service::new().await;
    let answered = "
        CREATE SEQUENCE tries;
        CREATE FUNCTION is_answered() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF coalesce(to_jsonb(NEW) ->> TG_ARGV[0], '') = 'twice' AND nextval('tries') <= 2 THEN RETURN NULL; END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER is_answered BEFORE INSERT ON idempotency
            FOR EACH ROW EXECUTE FUNCTION is_answered('key');
        CREATE TRIGGER is_answered BEFORE INSERT ON product
            FOR EACH ROW EXECUTE FUNCTION is_answered('sku')";
    ask(service.database().url(), answered);
    let (sent_twice, other) = (service.writer().await, service.writer().await);
    let made = at_once(CROWD, |number| {
        let (app, sent_twice, other) = (service.app.clone(), sent_twice.clone(), other.clone());
        async move {
            if number != CROWD / 2 {
                return create(app, other, number).await;
            }
            let request = request("twice", "POST");
            app.create_product(&sent_twice, with_sku("twice"), request)
                .await
        }
    });
    assert_eq!(counted(&made.await, once), counts([("made", CROWD)]));
    let tries = ask(service.database().url(), "SELECT last_value FROM tries");
    assert_eq!(tries, "4");
    let transactions = "SELECT count(DISTINCT xmin::text) FROM product";
    let transactions = ask(service.database().url(), transactions);
    let transactions: usize = transactions.parse().unwrap();
    assert!(transactions <= CROWD / 4, "{transactions}");
}

#[tokio::test]
async fn who_waits_for_a_lock_keeps_nobody_else_waiting() {
    let service = Service::new().await;
    let (slow, other) = (service.writer().await, service.writer().await);
    let (id, locked) = locked_product(&service, &slow).await;
    let waiting = {
        let (app, slow) = (service.app.clone(), slow.clone());
        tokio::spawn(async move {
            app.update_product(&slow, id, Default::default(), None)
                .await
        })
    };
    let begun = Instant::now();
    let made = at_once(CROWD, |number| {
        create(service.app.clone(), other.clone(), number)
    });
    assert_eq!(counted(&made.await, once), counts([("made", CROWD)]));
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert!(!waiting.is_finished());
    drop(locked);
    waiting.await.unwrap().unwrap();
}

/// Cutting blocks its thread: the crowd goes on beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_whose_connections_are_cut_is_made_once_each() {
    let service = Service::new().await;
    let key = service.writer().await;
    for round in 0..5 {
        let (app, its) = (service.app.clone(), key.clone());
        let made = tokio::spawn(at_once(CROWD, move |number| {
            create(app.clone(), its.clone(), round * CROWD + number)
        }));
        for _ in 0..3 {
            super::lost::cut(service.database().url());
        }
        for (number, answer) in made.await.unwrap().into_iter().enumerate() {
            // The outcome of an unanswered commit is unknown; repeating the request reveals it.
            let again = match answer {
                Ok(outcome) => outcome,
                Err(Error::Unavailable(_)) => {
                    let again = create(service.app.clone(), key.clone(), round * CROWD + number);
                    again.await.unwrap()
                }
                Err(error) => panic!("{error}"),
            };
            assert_eq!(again.value.name, "A");
        }
    }
    let products = ask(service.database().url(), "SELECT count(*) FROM product");
    assert_eq!(products, (5 * CROWD).to_string());
}

#[tokio::test]
async fn a_commit_that_nobody_answered_is_unavailable_to_all_of_its_group_and_not_tried_again() {
    let service = Service::new().await;
    let url = service.database().url();
    let key = service.writer().await;
    at_commit(url, "product", END_IT);
    let made = at_once(CROWD, |number| {
        create(service.app.clone(), key.clone(), number)
    });
    for answer in made.await {
        assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    }
    let tries: usize = tries(url).parse().unwrap();
    assert!(tries < CROWD / 4, "{tries}");
    assert_eq!(service.database().rows("product"), 0);
}

/// A change failed on this connection, and may succeed on another.
#[tokio::test]
async fn a_connection_whose_statements_have_become_stale_is_not_lent_again() {
    let url = migrated().await;
    let (relay, through) = Relay::before(&url).await;
    let store = open(&through.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = app.await.unwrap();
    let team = app.create_team("Acme").await.unwrap().id;
    let (key, _) = live_key(&app, team).await.unwrap();
    let made = app.create_product(&key, plain("A"), None).await;
    let id = made.unwrap().value.id;
    let update = async || {
        relay.take();
        let changed = app.update_product(&key, id, Default::default(), None).await;
        changed.unwrap();
        let said: Vec<_> = relay.take().into_iter().flatten().collect();
        said.iter()
            .filter(|said| **said == (b'Q', b"ROLLBACK\0".to_vec()))
            .count()
    };
    assert_eq!(update().await, 0);
    ask(&url, "ALTER TABLE product ALTER name TYPE VARCHAR(500)");
    assert_eq!(update().await, 1);
    assert_eq!(update().await, 0);
}

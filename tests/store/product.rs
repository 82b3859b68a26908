//! Products one by one: created, read, changed, archived.

use std::time::Duration;

use openapi_dropshot_runtime::Field;
use invoicing::domain::Error;
use invoicing::domain::audit::{Actor, Person};
use invoicing::domain::author::CatalogMember;
use invoicing::domain::catalog::{Catalog, Mode};
use invoicing::domain::api_key::Scope;
use invoicing::domain::id::{ProductId, TeamId};
use invoicing::domain::member::Role;
use invoicing::domain::product::{NewProduct, ProductChanges, ProductStatus};
use invoicing::domain::time::Timestamp;
use uuid::Uuid;

use super::product_sku::sku;
use super::signed_in::join;
use super::support::{START, Service, plain, with_sku};

#[tokio::test]
async fn what_was_created_is_read_back_exactly() {
    let service = Service::new().await;
    let key = service.writer().await;
    let price = "0.1000000000000000055511151231257827".parse().unwrap();
    let new = NewProduct {
        description: Some("line one\nline two".into()),
        sku: Some("A-1".into()),
        tax_rate: Some("7.70".parse().unwrap()),
        product_type: Some("SERVICES".into()),
        unit_of_measure: Some("hr".into()),
        ..NewProduct::new("Grüße 🦀", price, "CHF")
    };
    let made = service
        .app
        .create_product(&key, new.clone(), None)
        .await
        .unwrap();
    assert!(!made.replayed);
    let product = service.app.get_product(&key, made.value.id).await.unwrap();
    assert_eq!(product, made.value);
    assert_eq!(product.unit_price.as_str(), new.unit_price.as_str());
    assert_eq!(product.tax_rate.as_ref().unwrap().as_str(), "7.70");
    assert_eq!(
        (product.status, product.description),
        (ProductStatus::Active, new.description)
    );
    assert_eq!((product.created_at, product.updated_at), (START, START));
}

#[tokio::test]
async fn extreme_prices_are_read_back_as_the_same_decimals() {
    let service = Service::new().await;
    let key = service.writer().await;
    let zeros = format!("0.5{}", "0".repeat(500));
    let both = format!("1.{}e-400", "0".repeat(400));
    let digits = "1234567890.123456789012345678901234567890e-400";
    for literal in ["1e-400", "1E+12", "0e-400", "-0.00", digits, &zeros, &both] {
        let price = NewProduct {
            unit_price: literal.parse().unwrap(),
            ..plain("A")
        };
        let made = service.app.create_product(&key, price, None).await.unwrap();
        let id = made.value.id;
        // Twice: what was read is written again.
        for _ in 0..2 {
            let read = service.app.get_product(&key, id).await.unwrap();
            assert_eq!(read.unit_price, literal.parse().unwrap(), "{literal}");
            let same = service.app.update_product(&key, id, Default::default(), None);
            same.await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_product_is_invisible_from_another_team_or_mode() {
    let service = Service::new().await;
    let owner = service.writer().await;
    let id = service
        .app
        .create_product(&owner, plain("A"), None)
        .await
        .unwrap()
        .value
        .id;
    let test_mode = service
        .key(owner.team_id, Mode::Test, Scope::ReadWrite)
        .await;
    let stranger = service.writer().await;
    for key in [test_mode, stranger] {
        for error in [
            service.app.get_product(&key, id).await.err(),
            service
                .app
                .update_product(&key, id, Default::default(), None)
                .await
                .err(),
            service.app.archive_product(&key, id, None).await.err(),
        ] {
            assert!(matches!(error, Some(Error::ProductNotFound)), "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_product_that_never_was_is_not_found() {
    let service = Service::new().await;
    let key = service.writer().await;
    for id in [Uuid::nil(), Uuid::max(), Uuid::from_u128(7)] {
        let found = service.app.get_product(&key, ProductId(id)).await;
        assert!(matches!(found, Err(Error::ProductNotFound)), "{found:?}");
    }
}

#[tokio::test]
async fn a_change_keeps_clears_and_sets_field_by_field() {
    let service = Service::new().await;
    let key = service.writer().await;
    let new = NewProduct {
        description: Some("old".into()),
        tax_rate: Some("20".parse().unwrap()),
        unit_of_measure: Some("hr".into()),
        ..with_sku("A")
    };
    let before = service
        .app
        .create_product(&key, new, None)
        .await
        .unwrap()
        .value;
    let changes = ProductChanges {
        description: Field::Null,
        tax_rate: Field::Value("0".parse().unwrap()),
        product_type: Some("GOODS".into()),
        ..Default::default()
    };
    let after = service
        .app
        .update_product(&key, before.id, changes, None)
        .await
        .unwrap()
        .value;
    assert_eq!(
        (after.description.as_deref(), after.sku.as_deref()),
        (None, Some("A"))
    );
    assert_eq!(after.tax_rate, Some("0.0".parse().unwrap()));
    assert_eq!(after.product_type.as_deref(), Some("GOODS"));
    assert_eq!(after.unit_of_measure.as_deref(), Some("hr"));
    assert_eq!(
        (after.name.clone(), after.created_at),
        (before.name, before.created_at)
    );
    assert_eq!(
        service.app.get_product(&key, before.id).await.unwrap(),
        after
    );
}

#[tokio::test]
async fn updated_at_moves_strictly_forward_while_the_clock_stands_or_steps_back() {
    let service = Service::new().await;
    let key = service.writer().await;
    let made = service
        .app
        .create_product(&key, plain("A"), None)
        .await
        .unwrap()
        .value;
    let mut last = made.updated_at;
    for now in [
        START,
        START,
        START.before(Duration::from_secs(9)),
        START.after(Duration::from_secs(9)),
    ] {
        service.clock.set(now);
        let nothing = ProductChanges::default();
        let product = service
            .app
            .update_product(&key, made.id, nothing, None)
            .await
            .unwrap()
            .value;
        assert!(
            product.updated_at > last,
            "{} after {last}",
            product.updated_at
        );
        last = product.updated_at;
    }
    service.clock.set(Timestamp::from_millis(0));
    service.app.archive_product(&key, made.id, None).await.unwrap();
    assert!(
        service
            .app
            .get_product(&key, made.id)
            .await
            .unwrap()
            .updated_at
            > last
    );
}

#[tokio::test]
async fn archiving_happens_once_and_the_product_can_still_be_read_and_changed() {
    let service = Service::new().await;
    let key = service.writer().await;
    let id = service
        .app
        .create_product(&key, plain("A"), None)
        .await
        .unwrap()
        .value
        .id;
    service.app.archive_product(&key, id, None).await.unwrap();
    let again = service.app.archive_product(&key, id, None).await;
    assert!(matches!(again, Err(Error::AlreadyArchived)), "{again:?}");

    let rename = ProductChanges {
        name: Some("B".into()),
        ..Default::default()
    };
    let changed = service
        .app
        .update_product(&key, id, rename, None)
        .await
        .unwrap()
        .value;
    assert_eq!(
        (changed.name.as_str(), changed.status),
        ("B", ProductStatus::Archived)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_of_one_product_at_once_are_all_kept_and_each_has_its_own_updated_at() {
    let service = Service::new().await;
    let other = std::sync::Arc::new(service.another().await);
    let key = service.writer().await;
    let id = service
        .app
        .create_product(&key, plain("A"), None)
        .await
        .unwrap()
        .value
        .id;
    let fields = [
        ProductChanges {
            description: Field::Value("D".into()),
            ..Default::default()
        },
        ProductChanges {
            tax_rate: Field::Value("5".parse().unwrap()),
            ..Default::default()
        },
        ProductChanges {
            product_type: Some("GOODS".into()),
            ..Default::default()
        },
        sku("S"),
    ];
    let tasks: Vec<_> = (0..64)
        .map(|number| {
            let app = if number % 2 == 0 {
                service.app.clone()
            } else {
                other.clone()
            };
            let (key, changes) = (key.clone(), fields[number / 2 % 4].clone());
            tokio::spawn(async move { app.update_product(&key, id, changes, None).await })
        })
        .collect();
    let mut times = std::collections::BTreeSet::new();
    for task in tasks {
        assert!(
            times.insert(task.await.unwrap().unwrap().value.updated_at),
            "the same time twice"
        );
    }
    let product = service.app.get_product(&key, id).await.unwrap();
    assert_eq!(times.last(), Some(&product.updated_at));
    assert_eq!(product.description.as_deref(), Some("D"));
    assert_eq!(product.tax_rate, Some("5".parse().unwrap()));
    assert_eq!(product.product_type.as_deref(), Some("GOODS"));
    assert_eq!(product.sku.as_deref(), Some("S"));
}

/// A member at the live catalog of a team, as a page looks them up.
fn at_catalog(team_id: TeamId, role: Role, person: &Person) -> CatalogMember {
    let mode = Mode::Live;
    CatalogMember {
        catalog: Catalog { team_id, mode },
        role,
        user_id: person.user_id,
        session_id: person.session_id,
    }
}

/// W41.
#[tokio::test]
async fn who_has_signed_out_left_or_only_looks_on_changes_no_product() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let role = Role::Member;
    let stays = join(app, team, "stays@example.com", role).await;
    let viewer = join(app, team, "viewer@example.com", role).await;
    let left = join(app, team, "left@example.com", role).await;
    let out = join(app, team, "out@example.com", role).await;
    let at = |person| at_catalog(team, role, person);
    let made = app.create_product(&at(&stays), plain("A"), None).await;
    let id = made.unwrap().value.id;

    // Each was looked up as a member, and then this happened.
    app.set_role(&Actor::Operator, team, viewer.user_id, Role::Viewer).await.unwrap();
    app.remove_member(&Actor::Operator, team, left.user_id, false).await.unwrap();
    app.sign_out(out.clone()).await.unwrap();
    for (person, why) in [(&viewer, "role"), (&left, "member"), (&out, "token")] {
        let member = at(person);
        let refusals = [
            app.create_product(&member, plain("B"), None).await.err(),
            app.update_product(&member, id, sku("B"), None).await.err(),
            app.archive_product(&member, id, None).await.err(),
        ];
        for refused in refusals {
            let as_expected = match why {
                "role" => matches!(refused, Some(Error::RoleInsufficient)),
                "member" => matches!(refused, Some(Error::NotAMember)),
                _ => matches!(refused, Some(Error::InvalidToken)),
            };
            assert!(as_expected, "{why}: {refused:?}");
        }
    }
    let viewer = at_catalog(team, Role::Viewer, &stays);
    let refused = app.create_product(&viewer, plain("B"), None).await;
    assert!(matches!(refused, Err(Error::RoleInsufficient)), "{refused:?}");
    assert_eq!(service.database().rows("product"), 1);
}

/// W41: of two changes based on the same state, one is refused.
#[tokio::test]
async fn a_change_that_rests_on_an_earlier_state_is_refused() {
    let service = Service::new().await;
    let key = service.writer().await;
    let made = service.app.create_product(&key, plain("A"), None).await;
    let made = made.unwrap().value;
    let change = |text: &str| ProductChanges {
        unchanged_since: Some(made.updated_at),
        ..sku(text)
    };
    let (one, two) = tokio::join!(
        service.app.update_product(&key, made.id, change("one"), None),
        service.app.update_product(&key, made.id, change("two"), None)
    );
    let (done, refused) = match (one, two) {
        (done @ Ok(_), refused) | (refused, done) => (done, refused),
    };
    assert!(matches!(refused, Err(Error::ProductChanged)), "{refused:?}");
    let found = service.app.get_product(&key, made.id).await.unwrap();
    assert_eq!(found, done.unwrap().value);
}

#[tokio::test]
async fn a_product_is_archived_only_as_it_was_seen_and_once_whatever_was_seen() {
    let service = Service::new().await;
    let (app, key) = (&service.app, service.writer().await);
    let made = app.create_product(&key, plain("A"), None).await.unwrap().value;
    let before = Some(made.updated_at.before(std::time::Duration::from_millis(1)));
    let refused = app.archive_product(&key, made.id, before).await;
    assert!(matches!(refused, Err(Error::ProductChanged)), "{refused:?}");
    app.archive_product(&key, made.id, Some(made.updated_at)).await.unwrap();
    let again = app.archive_product(&key, made.id, before).await;
    assert!(matches!(again, Err(Error::AlreadyArchived)), "{again:?}");
}

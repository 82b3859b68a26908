//! Copies of a store: their contents, their progress, and that nothing is copied if anything is wrong.

use invoicing::store::copy::{Copied, CopyError, Progress, check_target, copy};

use super::engine::{AGE_SCHEMA, Database};
use super::support::Service;

/// A copy that is not yet visible, and its progress reports.
async fn copied(from: &Database, to: &Database) -> Result<(Copied, Vec<Progress>), CopyError> {
    let mut told = Vec::new();
    let (from, to) = (from.address(), to.address());
    let copied = copy(&from, &to, &mut |it| told.push(it)).await?;
    Ok((copied, told))
}

#[tokio::test]
async fn a_copy_tells_how_far_it_is_and_has_all_rows() {
    let service = Service::new().await;
    for name in ["ada", "ben", "carl"] {
        service.app.create_user(&format!("{name}@example.com"), name).await.unwrap();
    }
    let target = Database::new();
    check_target(&target.address()).await.unwrap();
    let (copied, told) = copied(service.database(), &target).await.unwrap();
    let rows = copied.tables.iter().map(|it| it.rows).sum();
    let users = copied.tables.iter().find(|it| it.table == "user").unwrap();
    assert_eq!((users.rows, copied.rows()), (3, rows));
    // A row counts when it is written, and again when it is read back.
    assert!(told.iter().all(|it| it.total == 2 * rows));
    assert!(told.is_sorted_by_key(|it| (it.verifying, it.rows)));
    let written = told.iter().rfind(|it| !it.verifying).unwrap();
    assert_eq!((written.rows, told.last().unwrap().rows), (rows, 2 * rows));

    copied.commit().await.unwrap();
    assert_eq!(target.rows("\"user\""), 3);
}

#[tokio::test]
async fn copies_of_the_same_have_the_same_checksum_and_others_another() {
    let service = Service::new().await;
    let checksum = async |from: &Database| {
        let to = Database::new();
        let (copied, _) = copied(from, &to).await.unwrap();
        let checksum = copied.checksum();
        copied.commit().await.unwrap();
        (checksum, to)
    };
    let (before, _) = checksum(service.database()).await;
    service.app.create_user("ada@example.com", "Ada").await.unwrap();
    let (now, there) = checksum(service.database()).await;
    assert_ne!(before, now);
    assert_eq!(checksum(&there).await.0, now);
}

#[tokio::test]
async fn nothing_is_copied_from_nothing_into_something_or_between_releases() {
    let service = Service::new().await;
    service.team().await;
    let (from, to, empty) = (service.database(), Service::new().await, Database::new());
    to.team().await;
    let to = to.database();
    // Present, but without a schema.
    let blank = Database::new();
    blank.change("CREATE TABLE blank (a INTEGER); DROP TABLE blank");
    for from in [&empty, &blank] {
        let refused = copied(from, &Database::new()).await.map(drop);
        assert!(matches!(refused, Err(CopyError::NoSource(_))), "{refused:?}");
    }
    for refused in [copied(from, to).await.map(drop), check_target(&to.address()).await] {
        assert!(matches!(refused, Err(CopyError::NotEmpty { .. })), "{refused:?}");
    }
    to.change(AGE_SCHEMA);
    for refused in [
        copied(from, to).await.map(drop),
        check_target(&to.address()).await,
        copied(to, &empty).await.map(drop),
    ] {
        assert!(matches!(refused, Err(CopyError::Schema { .. })), "{refused:?}");
    }
}

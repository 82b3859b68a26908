//! An owner leaves at the moment when another is deactivated (docs/decisions.md, X62 and W24): one of the two sees the
//! other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing::domain::holder::Holder;
use invoicing::domain::member::Role;
use invoicing::store::{Sql, member, team};
use test_support::postgres::lock_waits;
use tokio::sync::Notify;

use super::signed_in::join;
use super::support::Service;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_learns_that_the_other_owner_was_about_to_leave() {
    let service = Service::new().await;
    let team_id = service.team().await;
    let ada = join(&service.app, team_id, "ada@example.com", Role::Owner)
        .await
        .user_id;
    let ben = join(&service.app, team_id, "ben@example.com", Role::Owner)
        .await
        .user_id;

    // Like `App::remove_member`, but pausing before its commit.
    let (checked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, awaited) = (Arc::clone(&checked), Arc::clone(&go_on));
    let store = Arc::clone(&service.store);
    let leave = async move |sql: Sql<'_>| {
        let other = member::has_another_owner(team_id, ben);
        let (_, has_other) = sql.run((team::lock(team_id), other)).await?;
        assert!(has_other);
        sql.run(member::delete(team_id, ben)).await?;
        told.notify_one();
        awaited.notified().await;
        Ok(())
    };
    let left = tokio::spawn(async move { store.write(Holder::Service, leave).await });
    checked.notified().await;

    let app = Arc::clone(&service.app);
    let deactivated = tokio::spawn(async move { app.deactivate_user(ada).await });
    let begun = Instant::now();
    while !deactivated.is_finished() && lock_waits(service.database().url()) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(begun.elapsed() < Duration::from_secs(60), "it never waits");
    }
    go_on.notify_one();
    left.await.unwrap().unwrap();
    let (_, teams) = deactivated.await.unwrap().unwrap();
    let teams: Vec<_> = teams.iter().map(|it| it.id).collect();
    assert_eq!(teams, [team_id]);
}

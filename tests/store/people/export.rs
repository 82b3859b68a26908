//! What is stored about a user, told as one document: events are read part by part.

use invoicing::domain::member::Role;

use super::super::engine::RANDOM_ID;
use super::super::signed_in::join;
use super::super::support::Service;

#[tokio::test]
async fn of_any_number_of_events_all_are_told_and_ten_thousand_at_most() {
    let service = Service::new().await;
    let team = service.team().await;
    let bo = join(&service.app, team, "bo@example.com", Role::Viewer).await;
    let its = "audit_event WHERE actor = (SELECT id FROM \"user\" WHERE email = 'bo@example.com')";
    // A part is 500.
    for events in [499, 500, 501, 10_000, 10_001] {
        while service.database().rows(its) < events {
            let missing = events - service.database().rows(its);
            service.database().change(&format!(
                "INSERT INTO audit_event (id, actor, action, created_at) \
                 SELECT {RANDOM_ID}, actor, action, created_at FROM {its} LIMIT {missing}"
            ));
        }
        let told = service.app.export_user(bo.user_id).await.unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        // As people read it.
        assert_eq!(format!("{told:#}"), service.app.export_user(bo.user_id).await.unwrap());
        let done = told["done"].as_array().unwrap().len() as i64;
        let expected = (events.min(10_000), events > 10_000);
        assert_eq!((done, told["moreDone"] == true), expected);
    }
}

//! The removal of a user while the user's devices go on sending requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use invoicing::app::App;
use invoicing::domain::time::SystemClock;
use serde_json::Value;
use test_support::caller::Request;
use test_support::service::{Device, Service};

/// Devices that send requests at once.
const DEVICES: usize = 8;

/// Refreshes, and lists links with each new token, until something is refused. Returns the statuses of
/// both.
async fn use_up(service: Arc<Service>, device: Device, stop: Arc<AtomicBool>) -> (u16, u16) {
    let mut spent = device.refresh_token.clone();
    while !stop.load(Ordering::Relaxed) {
        let answer = service.exchange(&device.refresh_grant(&spent)).await;
        if answer.status() != 200 {
            return (answer.status(), 0);
        }
        let tokens: Value = answer.json();
        let text = |name: &str| tokens[name].as_str().unwrap().to_owned();
        spent = text("refresh_token");
        let links = Request::new("GET", device.links())
            .header("x-team-id", device.team_id.as_str())
            .bearer(&text("access_token"));
        let links = service.caller.send(links).await.status();
        if links != 200 {
            let last = service.exchange(&device.refresh_grant(&spent)).await;
            return (last.status(), links);
        }
    }
    (200, 200)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_user_who_is_removed_under_load_has_no_session_left_and_others_go_on() {
    let service = Service::own(env!("CARGO_BIN_EXE_invoicing"), &[]).unwrap();
    let team = service.team().unwrap();
    let device = service.device(&team).await.unwrap();
    let other = service.device(&team).await.unwrap();
    let mut devices = Vec::new();
    for _ in 0..DEVICES {
        let code = service.authorization_code(&device).unwrap();
        let tokens = service.exchange(&device.code_grant(&code)).await;
        let tokens: Value = tokens.expect_status(200).json();
        let refresh_token = tokens["refresh_token"].as_str().unwrap().to_owned();
        devices.push(Device {
            refresh_token,
            ..device.clone()
        });
    }
    let (service, stop) = (Arc::new(service), Arc::new(AtomicBool::new(false)));
    let user = |device: Device| tokio::spawn(use_up(service.clone(), device, stop.clone()));
    let asking: Vec<_> = devices.into_iter().map(user).collect();
    let bystander = user(other.clone());

    let address = service.own_database().unwrap().parse().unwrap();
    let store = invoicing::store::open(&address).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = app.await.unwrap();
    let id = device.user_id.parse().unwrap();
    app.delete_user(id).await.unwrap();
    // From here on nothing is granted, whatever was in progress.
    for asking in asking {
        let (refresh, links) = asking.await.unwrap();
        assert_eq!(refresh, 400, "links: {links}");
        assert!([0, 401, 403].contains(&links), "{links}");
    }
    stop.store(true, Ordering::Relaxed);
    assert_eq!(bystander.await.unwrap(), (200, 200));
    let sessions = app.list_sessions(Some(id), Default::default()).await;
    assert!(sessions.is_err(), "the user is there: {sessions:?}");
}

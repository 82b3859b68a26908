//! Several processes on one database: a server, and the command line beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::support::{Service, plain};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn another_process_gets_its_turn_while_64_clients_write() {
    let service = Service::new().await;
    let key = service.writer().await;
    let other = service.another().await;
    let busy = Arc::new(AtomicBool::new(true));
    let clients: Vec<_> = (0..64)
        .map(|_| {
            let (app, key, busy) = (service.app.clone(), key.clone(), busy.clone());
            tokio::spawn(async move {
                while busy.load(Ordering::Relaxed) {
                    app.create_product(&key, plain("A"), None).await.unwrap();
                }
            })
        })
        .collect();
    for number in 0..20 {
        other.create_team(&format!("Team {number}")).await.unwrap();
    }
    busy.store(false, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(service.app.list_teams(Default::default()).await.unwrap().len(), 21);
}

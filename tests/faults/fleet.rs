//! Three replicas on one database.

use serde_json::Value;
use tempfile::TempDir;
use test_support::caller::Caller;
use test_support::postgres::{Cluster, ask, dump};
use test_support::replica::Replica;
use test_support::service::{Device, Service, Team};

use crate::BINARY;

/// How many replicas.
pub const REPLICAS: usize = 3;

/// How many apps refresh their tokens.
const APPS: usize = 2;

/// Replicas, and everything that clients need to call them. If the test fails, a folder with their
/// logs and the database is kept.
pub struct Fleet {
    pub replicas: Vec<Replica>,
    pub team: Team,
    pub devices: Vec<Device>,
    /// The database, whichever server holds it.
    pub url: String,
    folder: Option<TempDir>,
}

impl Fleet {
    /// Starts replicas on a new database of the cluster.
    pub async fn start(cluster: &Cluster) -> Self {
        Self::start_with(cluster.database(), &[("INVOICING_RATE_LIMIT", "off")]).await
    }

    /// The same on the database at `url`, with these settings.
    pub async fn start_with(url: String, settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("invoicing-faults-")
            .tempdir()
            .unwrap();
        let settings = [&[("INVOICING_DATABASE", url.as_str())], settings].concat();
        let start = |number| {
            let name = format!("replica-{number}");
            Replica::start(BINARY, &name, folder.path(), &settings)
        };
        let replicas: Vec<_> = (0..REPLICAS).map(start).collect();
        let service = Service::at(&replicas[0].url(), BINARY, Some(url.clone()));
        let team = service.new_team().unwrap();
        let device = service.device(&team).await.unwrap();
        let mut devices = vec![device.clone()];
        while devices.len() < APPS {
            devices.push(sign_in_again(&service, &device).await);
        }
        Self {
            replicas,
            team,
            devices,
            url,
            folder: Some(folder),
        }
    }

    /// Callers of the replicas.
    pub fn callers(&self) -> Vec<Caller> {
        let urls = self.replicas.iter().map(Replica::url);
        urls.map(Caller::new).collect()
    }

    /// The output of psql for a query on the database.
    pub fn ask(&self, query: &str) -> String {
        ask(&self.url, query)
    }
}

/// Another session of the same person and app.
async fn sign_in_again(service: &Service, device: &Device) -> Device {
    let code = service.authorization_code(device).unwrap();
    let answer = service.exchange(&device.code_grant(&code)).await;
    let tokens = answer.expect_status(200).json();
    let text = |token: &Value| token.as_str().unwrap().to_owned();
    Device {
        access_token: text(&tokens["access_token"]),
        refresh_token: text(&tokens["refresh_token"]),
        ..device.clone()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(folder) = self.folder.take()
        {
            let folder = folder.keep();
            dump(&self.url, &folder.join("database.sql"));
            eprintln!("database and logs of the replicas: {}", folder.display());
        }
    }
}

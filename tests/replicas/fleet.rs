//! Replicas, and everything that they share.

use std::path::Path;

use tempfile::TempDir;
use test_support::balancer::Balancer;
use test_support::caller::Caller;
use test_support::postgres::Cluster;
use test_support::redis::Redis;
use test_support::replica::Replica;
use test_support::service::Service;

use crate::BINARY;

/// How many replicas.
const REPLICAS: usize = 3;

/// Replicas behind a balancer. The folder with their logs is kept if the test fails.
pub struct Fleet {
    /// The service at the balancer's address.
    pub service: Service,
    pub replicas: Vec<Replica>,
    pub redis: Redis,
    balancer: Balancer,
    /// The address of the database.
    pub database: String,
    /// PostgreSQL, until a test takes it away.
    pub cluster: Option<Cluster>,
    folder: Option<TempDir>,
}

impl Fleet {
    /// Starts replicas with these settings.
    pub fn start(settings: &[(&str, &str)]) -> Self {
        Self::behind(settings, |replicas, folder| {
            Balancer::start(replicas, folder)
        })
    }

    /// The same, with HTTP/2 everywhere, including the returned caller.
    pub fn start_with_http2(settings: &[(&str, &str)]) -> (Self, Caller) {
        let fleet = Self::behind(settings, |replicas, folder| {
            Balancer::start_with_http2(replicas, folder)
        });
        let caller = Caller::over_http2(fleet.balancer.url());
        (fleet, caller)
    }

    fn behind(
        settings: &[(&str, &str)],
        balancer: impl FnOnce(&[Replica], &Path) -> Balancer,
    ) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("invoicing-replicas-")
            .tempdir()
            .unwrap();
        let redis = Redis::start();
        let redis_url = redis.url();
        let cluster = Cluster::start();
        let database = cluster.database();
        let shared = [
            ("INVOICING_DATABASE", database.as_str()),
            ("INVOICING_REDIS", &redis_url),
            ("INVOICING_TRUSTED_PROXIES", "127.0.0.0/8"),
            // Ten checks of the balancer.
            ("INVOICING_DRAIN_DELAY", "1"),
        ];
        let settings = [&shared, settings].concat();
        let start = |number| {
            let name = format!("replica-{number}");
            Replica::start(BINARY, &name, folder.path(), &settings)
        };
        let replicas: Vec<_> = (0..REPLICAS).map(start).collect();
        let balancer = balancer(&replicas, folder.path());
        Self {
            service: Service::at(&balancer.url(), BINARY, Some(database.clone())),
            database,
            replicas,
            redis,
            balancer,
            cluster: Some(cluster),
            folder: Some(folder),
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(folder) = self.folder.take()
        {
            eprintln!("logs of the replicas: {}", folder.keep().display());
        }
    }
}

//! The address of Redis, which may hold a password, and is therefore never printed.

use std::fmt;
use std::str::FromStr;

use redis::{ConnectionInfo, IntoConnectionInfo};

/// A Redis, written `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, or `rediss://` for TLS.
#[derive(Clone)]
pub struct RedisUrl(ConnectionInfo);

impl RedisUrl {
    /// How to connect to it.
    pub fn connection_info(&self) -> ConnectionInfo {
        self.0.clone()
    }
}

impl FromStr for RedisUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXAMPLE: &str = "write something like redis://127.0.0.1:6379, or rediss:// for TLS";
        // Not `unix:` and the like, which a second machine could not share, nor `#insecure`, which would accept any
        // certificate.
        if !(text.starts_with("redis://") || text.starts_with("rediss://")) || text.contains('#') {
            return Err(EXAMPLE.into());
        }
        let info = text.into_connection_info();
        info.map(Self).map_err(|_| EXAMPLE.into())
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisUrl({})", self.0.addr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redis_is_an_address_whose_password_is_not_printed() {
        let url: RedisUrl = "rediss://user:hunter2@cache.example:6380/3"
            .parse()
            .unwrap();
        assert_eq!(format!("{url:?}"), "RedisUrl(cache.example:6380)");
        for text in [
            "",
            "127.0.0.1:6379",
            "redis://",
            "unix:///run/redis.sock",
            "rediss://cache.example/#insecure",
            "redis://cache.example/many",
        ] {
            let error = text.parse::<RedisUrl>().expect_err(text);
            assert!(error.contains("redis://127.0.0.1:6379"), "{error}");
        }
    }
}

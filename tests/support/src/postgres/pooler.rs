//! pgbouncer in transaction mode, between the tests and a cluster.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::{Cluster, path};
use crate::port;

/// Starts pgbouncer in the folder of a cluster, whose keeper stops it. Returns its port.
pub(super) fn start(cluster: &Cluster) -> u16 {
    let port = port::free();
    let settings = format!(
        "[databases]\n\
         * = host=127.0.0.1 port={} user=invoicing\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = any\n\
         pool_mode = transaction\n\
         default_pool_size = 4\n\
         max_client_conn = 2000\n\
         server_idle_timeout = 5\n\
         logfile = pgbouncer.log\n\
         pidfile = pgbouncer.pid\n",
        cluster.port
    );
    std::fs::write(cluster.folder().join("pgbouncer.ini"), settings).expect("it can be written");
    let mut command = Command::new("pgbouncer");
    command.args(["-d", "-q", "pgbouncer.ini"]);
    command.env("PATH", path()).current_dir(cluster.folder());
    if let Some((user, group)) = cluster.user {
        command.uid(user).gid(group);
    }
    let started = command.status().expect("pgbouncer can be run");
    assert!(started.success(), "pgbouncer does not start");
    port
}

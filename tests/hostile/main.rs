//! Attacks from outside, as tests: nothing that one caller sends, or leaves unread, may harm the others.
//!
//! Each file holds one way to harm the service and the limits that must hold meanwhile: the memory of the
//! process, the answers of all others, seconds. The sizes here are for CI; `INVOICING_HOSTILE_SCALE` multiplies
//! them (1 unless set), and CONTRIBUTING.md has the command for the long form.
//!
//! All attacks stay on loopback, are bounded in number and time, and go to a server that the test has started.

mod aliases;
mod answers;
mod attack;
mod bodies;
mod busy_cores;
mod certificate;
mod checked_bodies;
mod colleagues;
mod connections;
mod ended;
mod ended_downloads;
mod ended_lists;
mod forms;
mod full_page;
mod growth;
mod headers;
mod heads;
mod noise;
mod others;
mod people;
mod piles;
mod process;
mod proxies;
mod proxy;
mod residue;
mod scale;
mod slow_readers;
mod somebody;
mod strangers;
mod suspects;
mod thief;
mod unread_bodies;
mod violations;

/// The program under attack.
const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

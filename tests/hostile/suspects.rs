//! Handshakes that never end, a lying Redis, clocks that jump, users that are removed.

mod clock;
mod handshakes;
mod removed;

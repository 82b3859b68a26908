//! Handshakes that never end, a Redis that lies, clocks that jump, users that are removed.

mod clock;
mod handshakes;
mod removed;

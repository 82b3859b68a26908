//! What the runtime promises of every generated server, tried over connections that are written and
//! read byte by byte.

mod bodies;
mod connection;
mod media;
mod methods;
mod order;
mod parameters;
mod security;
mod values;

//! What the runtime promises for every generated server, tested over connections that are written
//! and read byte by byte.

mod bodies;
mod connection;
mod media;
mod methods;
mod order;
mod parameters;
mod security;
mod values;

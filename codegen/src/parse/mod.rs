//! From text to a [`Document`](crate::Document), or to everything that is wrong with it.

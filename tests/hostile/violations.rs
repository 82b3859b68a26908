//! A small body does not make a large answer.

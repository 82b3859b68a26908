//! Connections that are idle, unfinished or too many.

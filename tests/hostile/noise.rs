//! What a stranger can write into the log.

//! Methods and paths that are not written as published do not reach an operation.

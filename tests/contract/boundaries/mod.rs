//! For every keyword of every request schema and parameter, a value on each side of its boundary is
//! sent to a running server. What the document admits is not refused; what it refuses is answered with
//! the violations that name the place and the keyword, and no others.
//!
//! "Not refused" is less than success: a valid id may belong to nothing, a valid cursor to another
//! list, a valid code to nobody.

mod bodies;
mod parameters;
mod values;

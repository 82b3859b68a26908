//! For every keyword of every request schema and parameter, a value on each side of its boundary is
//! sent to a running server. A value that the document admits must not be refused; one that it refuses
//! must be answered with the violations that name the place and the keyword, and no others.
//!
//! "Not refused" is less than success: a valid id may not exist, a valid cursor may belong to another
//! list, a valid code may never have been issued.

mod bodies;
mod parameters;
mod values;

//! What the files of a database tell a thief.

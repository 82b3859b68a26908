//! What one key can make the database keep.

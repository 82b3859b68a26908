//! Answers that nobody reads hold no memory that others need.

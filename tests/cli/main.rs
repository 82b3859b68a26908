//! The command line, as an operator and their scripts see it: the real binary, its output and exit codes
//! (decisions.md, Command line).

mod api_key;
mod help;
mod openapi;
mod place;
mod settings;
mod team;

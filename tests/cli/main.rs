//! The command line, as an operator and their scripts see it: the real binary, its output and exit codes
//! (docs/decisions.md, "Command line").

mod api_key;
mod auth_code;
mod backup;
mod certificate;
mod completions;
mod copy;
mod database;
mod demo;
mod disk;
mod doctor;
mod fault_injection;
mod help;
mod item;
mod link;
mod list;
mod log;
mod man;
mod member;
mod memory;
mod metrics;
mod oauth_client;
mod openapi;
mod operations;
mod options;
mod place;
mod product;
mod serve;
mod server;
mod session;
mod settings;
mod sign_in;
mod team;
mod tls;
mod traces;
mod user;

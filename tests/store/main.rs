//! The rules of the service over a real store: what `app` and `store` promise together.
//!
//! One suite for every engine. `sqlite/engine.rs` and `postgres/engine.rs` define how a test gets a database
//! and looks into it; nothing else here names either, and every test runs on both: `sqlite::team::...`,
//! `postgres::team::...`.

#![allow(
    clippy::duplicate_mod,
    reason = "the suite is compiled once for each engine"
)]

macro_rules! suite {
    ($($test:ident $path:literal)+) => {
        mod engine;
        $(#[path = $path] mod $test;)+
    };
}

/// The suite, for the engine of the surrounding module.
macro_rules! every_test {
    () => {
        suite! {
            api_key "../api_key.rs"
            at_once "../at_once.rs"
            checked_again "../checked_again.rs"
            clock "../clock.rs"
            copy "../copy.rs"
            health "../health.rs"
            idempotency "../idempotency.rs"
            invitation "../invitation.rs"
            item "../item.rs"
            kept_import "../kept_import.rs"
            mail "../mail.rs"
            member "../member.rs"
            oauth_client "../oauth_client.rs"
            people "../people/mod.rs"
            processes "../processes.rs"
            product "../product.rs"
            product_import "../product_import.rs"
            product_list "../product_list.rs"
            product_sku "../product_sku.rs"
            role "../role.rs"
            rotation "../rotation.rs"
            secret "../secret.rs"
            session "../session/mod.rs"
            share_link "../share_link.rs"
            signed_in "../signed_in.rs"
            support "../support.rs"
            team "../team.rs"
            team_deletion "../team_deletion.rs"
            user "../user.rs"
            user_deletion "../user_deletion.rs"
        }
    };
}

mod postgres {
    every_test!();
    mod causes;
    mod distribution;
    mod fair;
    mod fair_lines;
    mod fair_rows;
    mod groups;
    mod groups_undone;
    mod leaving;
    mod lookups;
    mod lost;
    mod partitioned;
    mod plans;
    mod pooler;
    mod prepared;
    mod relay;
    mod revoked;
    mod round_trips;
    mod slots;
    mod slow;
    mod texts;
    mod tls;
    mod told_again;
    mod unanswered;
    mod upgrade;
}

mod sqlite {
    every_test!();
}

//! What belongs to a team can be kept on the team's machine: the keys of the schema say so.

use test_support::postgres::ask;

use super::support::Service;

/// Citus takes a table that is distributed by a column only when every unique key has this column, and a
/// foreign key between two such tables only when it has it on both sides.
#[tokio::test]
async fn every_key_of_a_table_of_teams_begins_with_the_team() {
    let service = Service::new().await;
    let url = service.database().url();
    // What was done in no team is in the audit, too, which is found by something else.
    let tables = ask(
        url,
        "SELECT count(*) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid \
         WHERE attname = 'team_id' AND attnotnull AND relkind IN ('r', 'p') AND NOT relispartition",
    );
    assert_eq!(tables, "9");
    let unique = "SELECT indexrelid::regclass FROM pg_index \
         JOIN pg_attribute team ON team.attrelid = indrelid AND team.attname = 'team_id' AND team.attnotnull \
         WHERE indisunique AND indkey[0] <> team.attnum";
    assert_eq!(ask(url, unique), "");
    let foreign = "SELECT conname FROM pg_constraint \
         JOIN pg_attribute mine ON mine.attrelid = conrelid AND mine.attname = 'team_id' \
         JOIN pg_attribute theirs ON theirs.attrelid = confrelid AND theirs.attname = 'team_id' \
         WHERE contype = 'f' AND (conkey[1] <> mine.attnum OR confkey[1] <> theirs.attnum)";
    assert_eq!(ask(url, foreign), "");
}

//! A team's rows can be kept on the team's machine: the keys of the schema allow it.

use test_support::postgres::ask;

use super::support::Service;

/// Citus distributes a table by a column only if every unique key includes this column, and accepts a
/// foreign key between two such tables only if it includes the column on both sides.
#[tokio::test]
async fn every_key_of_a_table_of_teams_begins_with_the_team() {
    let service = Service::new().await;
    let url = service.database().url();
    // The audit also contains actions outside of teams, and is looked up by something else.
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

-- What has ended or was revoked stays for a while, and is not read to show what has not.

CREATE INDEX IF NOT EXISTS session_alive_of_user ON session (user_id, generation, id) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS browser_session_alive_of_user ON browser_session (user_id, generation, id);
CREATE INDEX IF NOT EXISTS user_to_sweep ON user (id) WHERE swept_generations < session_generation + browser_generation;

-- The links of a team, and those that a user has made, as they were made.
CREATE INDEX IF NOT EXISTS share_link_unrevoked ON share_link (team_id, id) WHERE revoked_at IS NULL;
CREATE INDEX IF NOT EXISTS share_link_of_creator ON share_link (created_by, id);

-- Those that are revoked, by which a deleted team is emptied.
CREATE INDEX IF NOT EXISTS share_link_revoked ON share_link (team_id, id) WHERE revoked_at IS NOT NULL;

-- What is told of a user, and the teams that are looked for once a minute.
CREATE INDEX IF NOT EXISTS one_time_link_of_user ON one_time_link (user_id);
CREATE INDEX IF NOT EXISTS team_to_empty ON team (id) WHERE deleted_at IS NOT NULL AND emptied_at IS NULL;

-- What these were for is done by those above. Last, since PostgreSQL lets nobody read a table from here on.
DROP INDEX share_link_created_by;
DROP INDEX browser_session_of_user;

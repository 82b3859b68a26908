-- Users who are deactivated, teams that are deleted, and how far what belonged to them is gone.

-- What is stored about a user is found without reading the rest. First: what follows locks out those who sign in.
CREATE INDEX IF NOT EXISTS audit_event_subject ON audit_event (subject, id) WHERE subject IS NOT NULL;
CREATE INDEX IF NOT EXISTS api_key_created_by ON api_key (created_by) WHERE created_by IS NOT NULL;
CREATE INDEX IF NOT EXISTS share_link_created_by ON share_link (created_by);

-- Nobody signs in as them until they are activated.
ALTER TABLE "user" ADD COLUMN deactivated_at BIGINT;
-- When nothing was left of a removed user but the row.
ALTER TABLE "user" ADD COLUMN emptied_at BIGINT;

-- The same of teams: one that is deleted stays as a row, for the audit and so that nothing refers to nothing.
ALTER TABLE team ADD COLUMN deleted_at BIGINT;
ALTER TABLE team ADD COLUMN emptied_at BIGINT;

-- The background task finds whom to go on with. There are few teams.
CREATE INDEX user_to_empty ON "user" (id) WHERE removed_at IS NOT NULL AND emptied_at IS NULL;

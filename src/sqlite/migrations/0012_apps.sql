-- Apps and folders can be deleted, and what belongs to one is found by it. Where keys were last used from.

CREATE INDEX IF NOT EXISTS session_client_id ON session (client_id, id);
CREATE INDEX IF NOT EXISTS auth_code_client_id ON auth_code (client_id, session_id);
CREATE INDEX IF NOT EXISTS file_folder_id ON file (team_id, folder_id, id) WHERE folder_id IS NOT NULL;

-- From then on the app is unknown to everybody. The row stays until nothing refers to it.
ALTER TABLE oauth_client ADD COLUMN deleted_at INTEGER;

-- A client address.
ALTER TABLE api_key ADD COLUMN last_used_from TEXT;

-- A user has few codes that are not used yet, and as many others as sessions of apps: to find the few, those are not read.
CREATE INDEX IF NOT EXISTS auth_code_unused_of_user ON auth_code (user_id) WHERE session_id IS NULL;

-- Nobody asks for the others by their user: they go with their sessions.
DROP INDEX auth_code_user_id;

-- Whether a team of ten thousand has another owner.
CREATE INDEX IF NOT EXISTS member_owner ON member (team_id, user_id) WHERE role = 'owner';

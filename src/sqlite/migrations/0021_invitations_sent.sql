-- The invitations that a user has sent, for the export of what is stored about the user.
CREATE INDEX IF NOT EXISTS invitation_sent ON invitation (invited_by, id);

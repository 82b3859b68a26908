-- The key that took this one's place when it was rotated.
ALTER TABLE api_key ADD COLUMN replaced_by UUID;

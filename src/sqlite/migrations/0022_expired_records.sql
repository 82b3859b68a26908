-- Idempotency records that have expired are found wherever they are. While the clock is ahead, and in a copy, records are
-- written in another order than that of time.
CREATE INDEX IF NOT EXISTS idempotency_created_at ON idempotency (created_at);

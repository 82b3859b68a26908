-- Who ends all sessions at once may have a million of them. The first few hundred are ended row by row; the others have ended, once
-- their user's generation is another than theirs.
ALTER TABLE session ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE browser_session ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "user" ADD COLUMN session_generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "user" ADD COLUMN browser_generation BIGINT NOT NULL DEFAULT 0;
-- The sum of both up to which the background task has seen to the rows.
ALTER TABLE "user" ADD COLUMN swept_generations BIGINT NOT NULL DEFAULT 0;

-- SQLite keeps its products and records of idempotency in another order from here on. Here they stay as they are:
-- this keeps the numbers of both engines' migrations in step.
SELECT 1;

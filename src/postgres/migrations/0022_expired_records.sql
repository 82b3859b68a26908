-- SQLite gets the index by which records that have expired are found here: this keeps the numbers of both engines'
-- migrations in step.
SELECT 1;

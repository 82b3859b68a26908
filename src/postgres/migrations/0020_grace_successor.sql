-- What this was for is done by the index of the last version.
DROP INDEX refresh_token_successor;

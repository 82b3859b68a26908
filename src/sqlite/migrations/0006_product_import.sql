-- Plans of imports, which a user is shown and then confirms: the file, and a digest of the products that the plan was
-- decided by. One for each user, team and mode, for an hour.
CREATE TABLE product_import (
    team_id    BLOB    NOT NULL REFERENCES team (id),
    id         BLOB    NOT NULL CHECK (length(id) = 16),
    mode       TEXT    NOT NULL CHECK (mode IN ('live', 'test')),
    user_id    BLOB    NOT NULL REFERENCES user (id),
    csv        BLOB    NOT NULL,
    rests_on   BLOB    NOT NULL CHECK (length(rests_on) = 32),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (team_id, id)
) STRICT;

CREATE UNIQUE INDEX product_import_user ON product_import (team_id, mode, user_id);

-- What a user who is deleted leaves is found without reading the rest.
CREATE INDEX product_import_user_id ON product_import (user_id);

-- The background task finds what has expired without reading the rest.
CREATE INDEX product_import_created_at ON product_import (created_at);

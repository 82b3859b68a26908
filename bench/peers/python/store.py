"""The catalog in SQLite, with the tables, the settings and the statements of the server written by hand
(`bench/src/servers/by_hand/`).

Statements run where they are asked for: on one core, a hop to another thread costs Python more than they do.
"""

import base64
import hashlib
import json
import os
import sqlite3
import time
import uuid
from datetime import datetime, timezone
from typing import NamedTuple

FIND_API_KEY = """SELECT team_id, mode, scope FROM api_key
    WHERE digest = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"""
GET_PRODUCT = "SELECT * FROM product WHERE team_id = ? AND mode = ? AND id = ?"
LIST_ALL = "SELECT * FROM product WHERE team_id = ? AND mode = ? AND id < ? ORDER BY id DESC LIMIT ?"
LIST_PRODUCTS = """SELECT * FROM product WHERE team_id = ? AND mode = ? AND id < ? AND status = ?
    ORDER BY id DESC LIMIT ?"""
INSERT_PRODUCT = "INSERT INTO product VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', ?, ?)"
INSERT_RECORD = "INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?)"
FIND_RECORD = "SELECT request, answer FROM idempotency WHERE team_id = ? AND mode = ? AND key = ?"


class Caller(NamedTuple):
    """Whose key a request brings, and what it opens."""

    team_id: bytes
    mode: str
    scope: str


class Created(NamedTuple):
    """What creating a product answers."""

    body: str
    id: str
    is_replayed: bool

    def headers(self) -> dict:
        headers = {"Location": f"/api/v1/products/{self.id}"}
        return {**headers, "Idempotency-Replayed": "true"} if self.is_replayed else headers


class ApiError(Exception):
    """Why a request is refused: a status and a code."""

    def __init__(self, status: int, code: str):
        super().__init__(code)
        self.status = status
        self.body = {"error": {"code": code, "message": code}}


class Store:
    """One connection, which reads and writes."""

    def __init__(self, path: str):
        self.sql = sqlite3.connect(path, isolation_level=None)
        self.sql.execute("PRAGMA journal_mode = WAL")
        self.sql.execute("PRAGMA synchronous = FULL")

    def find_api_key(self, key: str) -> Caller | None:
        row = self.sql.execute(FIND_API_KEY, (digest(key), now())).fetchone()
        return row and Caller(*row)

    def get_product(self, caller: Caller, id: str) -> dict:
        row = self.sql.execute(GET_PRODUCT, (caller.team_id, caller.mode, uuid.UUID(id).bytes)).fetchone()
        if row is None:
            raise ApiError(404, "product_not_found")
        return published(row)

    def list_products(self, caller: Caller, status: str, limit: int, after: str | None) -> dict:
        start = base64.urlsafe_b64decode(after + "==") if after else b"\xff" * 16
        if status == "all":
            rows = self.sql.execute(LIST_ALL, (caller.team_id, caller.mode, start, limit + 1))
        else:
            rows = self.sql.execute(LIST_PRODUCTS, (caller.team_id, caller.mode, start, status, limit + 1))
        rows = rows.fetchall()
        has_more = len(rows) > limit
        rows = rows[:limit]
        next_cursor = base64.urlsafe_b64encode(rows[-1][2]).decode().rstrip("=") if has_more else None
        return {"data": [published(row) for row in rows], "hasMore": has_more, "nextCursor": next_cursor}

    def create_product(self, caller: Caller, fields: dict, key: str | None) -> Created:
        """In one transaction: the product, and the record of the request."""
        if caller.scope != "read-write":
            raise ApiError(403, "scope_insufficient")
        self.sql.execute("BEGIN IMMEDIATE")
        try:
            created = self._create_once(caller, fields, key)
            self.sql.execute("COMMIT")
            return created
        except BaseException as error:
            self.sql.execute("ROLLBACK")
            if isinstance(error, sqlite3.IntegrityError):
                raise ApiError(409, "duplicate_sku") from error
            raise

    def _create_once(self, caller: Caller, fields: dict, key: str | None) -> Created:
        request = digest(json.dumps(fields, sort_keys=True))
        scope = (caller.team_id, caller.mode)
        record = key and self.sql.execute(FIND_RECORD, (*scope, key)).fetchone()
        if record:
            if record[0] != request:
                raise ApiError(409, "idempotency_key_reused")
            return Created(record[1], json.loads(record[1])["data"]["id"], True)
        created_at = now()
        row = (
            *scope,
            new_id(created_at),
            fields["name"],
            repr(fields["unitPrice"]),
            fields["currency"],
            fields.get("description"),
            fields.get("sku"),
            None if fields.get("taxRate") is None else repr(fields["taxRate"]),
            fields.get("type"),
            fields.get("unitOfMeasure"),
            "active",
            created_at,
            created_at,
        )
        self.sql.execute(INSERT_PRODUCT, row[:11] + row[12:])
        product = published(row)
        body = json.dumps({"data": product}, separators=(",", ":"))
        if key:
            self.sql.execute(INSERT_RECORD, (*scope, key, request, body, created_at))
        return Created(body, product["id"], False)


def published(row: tuple) -> dict:
    """A row as the document describes it."""
    product = {
        "id": str(uuid.UUID(bytes=row[2])),
        "name": row[3],
        "unitPrice": number(row[4]),
        "currency": row[5],
        "description": row[6],
        "sku": row[7],
        "taxRate": None if row[8] is None else number(row[8]),
        "status": row[11],
        "createdAt": timestamp(row[12]),
        "updatedAt": timestamp(row[13]),
    }
    if row[9] is not None:
        product["type"] = row[9]
    if row[10] is not None:
        product["unitOfMeasure"] = row[10]
    return product


def number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)


def timestamp(millis: int) -> str:
    moment = datetime.fromtimestamp(millis / 1000, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> int:
    return time.time_ns() // 1_000_000


def digest(text: str) -> bytes:
    """SHA-256 of a text with its length in front, as the server written by hand keeps it."""
    data = text.encode()
    return hashlib.sha256(len(data).to_bytes(8, "big") + data).digest()


def new_id(millis: int) -> bytes:
    """A UUIDv7."""
    random = bytearray(os.urandom(10))
    random[0] = random[0] & 0x0F | 0x70
    random[2] = random[2] & 0x3F | 0x80
    return millis.to_bytes(6, "big") + bytes(random)

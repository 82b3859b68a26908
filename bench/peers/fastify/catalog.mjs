// The catalog in SQLite, with the tables, the settings and the statements of the server written by hand
// (`bench/src/servers/by_hand/`).
import { hash, randomFillSync } from "node:crypto";
import Database from "better-sqlite3";

export class Catalog {
    constructor(path) {
        const database = new Database(path);
        database.pragma("journal_mode = WAL");
        database.pragma("synchronous = FULL");
        this.key = database.prepare(
            `SELECT team_id, mode, scope FROM api_key
             WHERE digest = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`,
        );
        this.one = database.prepare("SELECT * FROM product WHERE team_id = ? AND mode = ? AND id = ?");
        const page = (status) =>
            database.prepare(
                `SELECT * FROM product WHERE team_id = ? AND mode = ? ${status} AND id < ? ORDER BY id DESC LIMIT ?`,
            );
        this.pages = { active: page("AND status = 'active'"), archived: page("AND status = 'archived'"), all: page("") };
        this.insert = database.prepare("INSERT INTO product VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', ?, ?)");
        this.record = database.prepare("INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?)");
        this.recorded = database.prepare(
            "SELECT request, answer FROM idempotency WHERE team_id = ? AND mode = ? AND key = ?",
        );
        this.once = database.transaction((...request) => this.createOnce(...request)).immediate;
    }

    findApiKey(key) {
        return this.key.get(digest(key), Date.now());
    }

    getProduct({ team_id, mode }, id) {
        const row = this.one.get(team_id, mode, Buffer.from(id.replaceAll("-", ""), "hex"));
        return row && published(row);
    }

    listProducts({ team_id, mode }, { status, limit, after }) {
        const from = after ? Buffer.from(after, "base64url") : Buffer.alloc(16, 0xff);
        const rows = this.pages[status].all(team_id, mode, from, limit + 1);
        const hasMore = rows.length > limit;
        const data = rows.slice(0, limit);
        const nextCursor = hasMore ? data[limit - 1].id.toString("base64url") : null;
        return { data: data.map(published), hasMore, nextCursor };
    }

    createProduct(caller, body, key) {
        try {
            return this.once(caller, body, key);
        } catch (error) {
            if (error.code === "SQLITE_CONSTRAINT_UNIQUE") return { refusal: "duplicate_sku" };
            throw error;
        }
    }

    createOnce({ team_id, mode }, fields, key) {
        const request = digest(JSON.stringify(fields));
        const earlier = key && this.recorded.get(team_id, mode, key);
        if (earlier) {
            if (!earlier.request.equals(request)) return { refusal: "idempotency_key_reused" };
            return { body: earlier.answer, id: JSON.parse(earlier.answer).data.id, isReplayed: true };
        }
        const now = Date.now();
        const row = {
            id: newId(now),
            name: fields.name,
            unit_price: String(fields.unitPrice),
            currency: fields.currency,
            description: fields.description ?? null,
            sku: fields.sku ?? null,
            tax_rate: fields.taxRate == null ? null : String(fields.taxRate),
            type: fields.type ?? null,
            unit_of_measure: fields.unitOfMeasure ?? null,
        };
        this.insert.run(team_id, mode, ...Object.values(row), now, now);
        const product = published({ ...row, status: "active", created_at: now, updated_at: now });
        const body = JSON.stringify({ data: product });
        if (key) this.record.run(team_id, mode, key, request, body, now);
        return { body, id: product.id };
    }
}

function published(row) {
    const product = {
        id: row.id.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
        name: row.name,
        unitPrice: Number(row.unit_price),
        currency: row.currency,
        description: row.description,
        sku: row.sku,
        taxRate: row.tax_rate === null ? null : Number(row.tax_rate),
        status: row.status,
        createdAt: new Date(row.created_at).toISOString(),
        updatedAt: new Date(row.updated_at).toISOString(),
    };
    if (row.type !== null) product.type = row.type;
    if (row.unit_of_measure !== null) product.unitOfMeasure = row.unit_of_measure;
    return product;
}

// SHA-256 of a text with its length in front, as the server written by hand keeps it.
function digest(text) {
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    return hash("sha256", Buffer.concat([length, bytes]), "buffer");
}

// A UUIDv7.
function newId(now) {
    const id = randomFillSync(Buffer.alloc(16));
    id.writeUIntBE(now, 0, 6);
    id[6] = (id[6] & 0x0f) | 0x70;
    id[8] = (id[8] & 0x3f) | 0x80;
    return id;
}

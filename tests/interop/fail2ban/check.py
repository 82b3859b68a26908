"""What fail2ban makes of the log of a server of its own.

1. Clients at several addresses are refused, sign in wrongly, look for what is not there, or do nothing wrong. All come
   through a proxy that is trusted, so that each has an address, and all do much that is harmless before.
2. One of them writes the address of a victim, and whole lines of the log, wherever a request takes a text.
3. The filter finds those who were refused, in its other mode those who probe, too; and neither the victim, nor who has
   done nothing wrong, nor the proxy.
4. A fail2ban of its own, with the jail as it is but for log and action, bans whoever was refused often enough.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGING = ROOT / "packaging/fail2ban"

REFUSED, WRONG, SIX, PROBER, GOOD = "198.51.100.1", "198.51.100.2", "2001:db8::6", "198.51.100.3", "198.51.100.4"
# Whom a page of somebody else has made ask without a credential.
LED = "198.51.100.5"
FORGER, VICTIM = "203.0.113.66", "192.0.2.99"
LINE = (
    '","status":401,"error_code":"invalid_token","latency_us":1,"request_id":"a","client_address":"%s"}\n'
    '{"time":"2026-01-01T00:00:00.000Z","level":"info","msg":"request","method":"GET","route":null,"status":401,'
    '"error_code":"invalid_token","latency_us":1,"request_id":"a","client_address":"%s"}\n'
) % (VICTIM, VICTIM)


def serve(folder: Path) -> tuple[subprocess.Popen, int]:
    """A server that writes its log to a file, and its port."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("INVOICING_")}
    line = [os.environ["INVOICING"], "serve", "--listen", "127.0.0.1:0", "--origin", "http://localhost:8080"]
    line += ["--trusted-proxies", "127.0.0.1", "--rate-limit", "off"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(line, cwd=folder, env=settings, stderr=log)
    for _ in range(600):
        for text in (folder / "log").read_text().splitlines(keepends=True):
            if text.endswith("\n") and json.loads(text)["msg"] == "listening":
                return server, int(json.loads(text)["url"].rsplit(":", 1)[1])
        time.sleep(0.05)
    server.kill()
    sys.exit("the server did not start")


def ask(port: int, client: str, head: bytes, body: bytes = b"") -> int:
    """The status of the answer to a request, whose head lacks its end."""
    more = f"Host: localhost:8080\r\nX-Forwarded-For: {client}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head + more.encode() + body)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0


def expect(found: object, expected: object, what: str) -> None:
    if found != expected:
        sys.exit(f"{what}: {found!r}, not {expected!r}")


def sign_in(port: int, client: str, email: str) -> int:
    body = urllib.parse.urlencode({"email": email, "password": "wrong horse battery", "next": "/"}).encode()
    head = b"POST /sign-in HTTP/1.1\r\nOrigin: http://localhost:8080\r\nSec-Fetch-Site: same-origin\r\n"
    return ask(port, client, head + b"Content-Type: application/x-www-form-urlencoded\r\n", body)


def visit(port: int) -> None:
    """Step 1."""
    for client in (REFUSED, SIX, WRONG, PROBER):
        for _ in range(25):
            expect(ask(port, client, b"GET /docs/page.css HTTP/1.1\r\n"), 200, client)
    for _ in range(4):
        for client in (REFUSED, SIX):
            expect(ask(port, client, b"GET /api/v1/products HTTP/1.1\r\nAuthorization: Bearer x\r\n"), 401, client)
        expect(ask(port, LED, b"GET /api/v1/products HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\n"), 401, LED)
        expect(sign_in(port, WRONG, "nobody@example.com"), 422, WRONG)
        expect(ask(port, PROBER, b"GET /wp-login.php?x=1 HTTP/1.1\r\n"), 404, PROBER)
        expect(ask(port, GOOD, b"GET /docs/page.css HTTP/1.1\r\n"), 200, GOOD)


def forge(port: int) -> None:
    """Step 2. What comes of each does not matter, as long as it is in the log as one line of this client."""
    raw, quoted = LINE.encode(), urllib.parse.quote(LINE).encode()
    inline = raw.replace(b"\n", b"").replace(b" ", b"")
    short = b'/","client_address":"'  # Short enough for a segment that is shown.
    for path in (b"/" + quoted, b"/" + inline, short + VICTIM.encode() + b'"', b"/<HOST>/" + VICTIM.encode()):
        ask(port, FORGER, b"GET " + path + b" HTTP/1.1\r\n")
        wrong = b" HTTP/1.1\r\nAuthorization: Bearer x\r\n"
        ask(port, FORGER, b"GET /api/v1/products?after=" + path[1:] + wrong)
    ask(port, FORGER, b"GET /" + raw + b" HTTP/1.1\r\n")
    one_line = inline[:600]
    for header in (b"Authorization: Bearer ", b"User-Agent: ", b"X-Request-Id: ", b"Referer: ", b"Cookie: session="):
        ask(port, FORGER, b"GET /api/v1/products HTTP/1.1\r\n" + header + one_line + b"\r\n")
    ask(port, FORGER, VICTIM.encode() + b" /api/v1/products HTTP/1.1\r\n")
    # Left of what the proxy has written, in the same line and in one before.
    ask(port, f"{VICTIM}, {FORGER}", b"GET /api/v1/products HTTP/1.1\r\nX-Forwarded-For: " + VICTIM.encode() + b"\r\n")
    sign_in(port, FORGER, LINE)


def found(folder: Path, mode: str) -> set[str]:
    """Step 3: whom the filter finds."""
    filter_ = f"{PACKAGING / 'filter.d/invoicing.conf'}[mode={mode}]"
    line = ["fail2ban-regex", "--out", "ip", str(folder / "log"), filter_]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"fail2ban-regex: {done.stdout}{done.stderr}")
    return set(done.stdout.split())


def banned(folder: Path) -> set[str]:
    """Step 4: whom a fail2ban bans, by the jail that is packaged."""
    config = folder / "fail2ban"
    shutil.copytree("/etc/fail2ban", config, ignore=shutil.ignore_patterns("jail.*", "paths-*", "*.local"))
    shutil.copy(PACKAGING / "filter.d/invoicing.conf", config / "filter.d")
    ours = {
        "backend": "polling",
        "logpath": folder / "log",
        "maxretry": 3,
        "findtime": "1h",
        "action": f"dummy[target={folder / 'banned'}]",
    }
    jail = (PACKAGING / "jail.d/invoicing.conf").read_text().splitlines()
    jail = [line for line in jail if line.split(" = ")[0] not in ours]
    jail += [f"{name} = {value}" for name, value in ours.items()]
    (config / "jail.conf").write_text("\n".join(jail) + "\n")
    log = folder / "fail2ban.log"
    (config / "fail2ban.local").write_text(f"[DEFAULT]\nloglevel = INFO\nlogtarget = {log}\ndbfile = :memory:\n")

    where = ["-c", str(config), "-s", str(folder / "socket"), "-p", str(folder / "pid")]
    # Two hours from UTC, in which the log is.
    elsewhere = {**os.environ, "TZ": "XYZ-2"}
    server = ["fail2ban-server", "-x", "-f", *where, "start"]
    process = subprocess.Popen(server, env=elsewhere, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    asked = ["fail2ban-client", *where, "get", "invoicing", "banip"]
    found: set[str] = set()
    end = time.monotonic() + 60
    try:
        while not {REFUSED, WRONG, SIX, FORGER} <= found and time.monotonic() < end and process.poll() is None:
            time.sleep(0.2)
            said = subprocess.run(asked, capture_output=True, text=True)
            found = set(said.stdout.split()) if said.returncode == 0 else set()
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=30)
    if not found:
        sys.exit(f"fail2ban bans nobody: {output.decode()}{log.read_text() if log.exists() else ''}")
    return found


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="invoicing-fail2ban-") as place:
        folder = Path(place)
        server, port = serve(folder)
        try:
            visit(port)
            forge(port)
        finally:
            server.terminate()
            expect(server.wait(timeout=40), 0, "the server's exit code")
        refused = {REFUSED, WRONG, SIX, FORGER}
        expect(found(folder, "refused"), refused, "refused")
        expect(found(folder, "probes"), refused | {PROBER}, "probes")
        expect(banned(folder), refused, "banned")
    print("fail2ban finds and bans whoever was refused, and nobody else")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs a command against a service of its own: `service.py COMMAND [ARGUMENT...]`.

1. A temporary database is filled with the commands of `invoicing`, as an operator would do it: two teams, API keys of
   each mode and scope, a person who is a member of the first team, a folder, a file and its links.
2. `invoicing serve` runs on a free port of the loopback interface, without rate limits unless INVOICING_RATE_LIMIT
   says otherwise.
3. The person signs in: a code is issued, and exchanged for tokens.
4. The command runs, and finds all of that in its environment (`Service.environment`).
5. The server is stopped. Its end has to be clean and its log free of errors, or the run fails.

`service.py bash` is a shell with everything ready.
"""

import base64
import hashlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLIENT_ID = "interop-app"
REDIRECT_URI = "com.example.interop:/signed-in"


class Service:
    """A server, what is in its database, and the commands on it."""

    def __init__(self, folder: Path) -> None:
        self.binary = os.environ.get("INVOICING", str(ROOT / "target/debug/invoicing"))
        self.folder = folder
        self.database = f"sqlite:{folder / 'invoicing.db'}"
        self.log = folder / "log"

    def command(self, *arguments: str) -> dict:
        """What a command of `invoicing` prints."""
        line = [self.binary, *arguments, "--database", self.database, "--json"]
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(arguments)}: {done.stderr}")
        return json.loads(done.stdout)

    def seed(self) -> dict[str, str]:
        """Fills the database."""

        def key(team: str, mode: str, scope: str) -> str:
            return self.command("api-key", "create", "--team", team, "--mode", mode, "--scope", scope)["key"]

        team, other_team = (self.command("team", "create", "--name", name)["id"] for name in ("Acme", "Umbrella"))
        user = self.command("user", "create", "--email", "ada@example.com", "--name", "Ada Lovelace")["id"]
        self.command("member", "add", "--team", team, "--user", user, "--role", "member")
        self.command("oauth-client", "create", "--id", CLIENT_ID, "--name", "Interop", "--redirect-uri", REDIRECT_URI)
        folder = self.command("folder", "create", "--team", team, "--name", "Offers")["id"]
        file = self.command("file", "create", "--team", team, "--name", "Offer.pdf", "--folder", folder)["id"]
        self.command("link", "create", "--file", file, "--user", user, "--name", "For the customer")
        self.command("link", "create", "--file", file, "--user", user, "--audience", "team", "--expires-in", "7d")
        return {
            "TEAM_ID": team,
            "OTHER_TEAM_ID": other_team,
            "API_KEY": key(team, "live", "read-write"),
            "READ_ONLY_API_KEY": key(team, "live", "read-only"),
            "TEST_API_KEY": key(team, "test", "read-write"),
            "OTHER_API_KEY": key(other_team, "live", "read-write"),
            "USER_ID": user,
            "FOLDER_ID": folder,
            "FILE_ID": file,
        }

    def start(self) -> tuple[subprocess.Popen, str]:
        """The server, and its address, once it listens."""
        settings = {"INVOICING_RATE_LIMIT": "off", **os.environ}
        line = [self.binary, "serve", "--listen", "127.0.0.1:0", "--database", self.database, "--log-format", "json"]
        with self.log.open("w") as log:
            server = subprocess.Popen(line, env=settings, stderr=log)
        for _ in range(600):
            for entry in self.entries():
                if "url" in entry:
                    return server, entry["url"]
            if server.poll() is not None:
                break
            time.sleep(0.05)
        server.kill()
        sys.exit(f"the server did not start:\n{self.log.read_text()}")

    def entries(self) -> list[dict]:
        """The log so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def sign_in(self, url: str, user: str) -> dict[str, str]:
        """A session of the person, begun as an app does it."""
        verifier = secrets.token_urlsafe(32)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        issue = ["auth-code", "issue", "--user", user, "--client", CLIENT_ID, "--redirect-uri", REDIRECT_URI]
        body = {
            "grant_type": "authorization_code",
            "code": self.command(*issue, f"--code-challenge={challenge}")["code"],
            "code_verifier": verifier,
            "redirect_uri": REDIRECT_URI,
            "client_id": CLIENT_ID,
        }
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/api/auth/mobile/token", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            tokens = json.load(answer)
        return {"ACCESS_TOKEN": tokens["access_token"], "REFRESH_TOKEN": tokens["refresh_token"]}

    def environment(self, url: str, seed: dict[str, str]) -> dict[str, str]:
        """What a command finds: the server, the commands' database, and the seed."""
        return {
            **os.environ,
            **seed,
            **self.sign_in(url, seed["USER_ID"]),
            "BASE_URL": url,
            "INTEROP_FOLDER": str(self.folder),
            "CLIENT_ID": CLIENT_ID,
            "REDIRECT_URI": REDIRECT_URI,
            "INVOICING": self.binary,
            "INVOICING_DATABASE": self.database,
        }

    def verdict(self, server: subprocess.Popen) -> int:
        """Stops the server and says how it was."""
        server.terminate()
        try:
            status = server.wait(timeout=40)
        except subprocess.TimeoutExpired:
            server.kill()
            status = "none: it had to be killed"
        errors = [entry for entry in self.entries() if entry["level"] == "error"]
        for entry in errors[:20]:
            print(f"the server's log: {json.dumps(entry)}", file=sys.stderr)
        if status != 0:
            print(f"the server's exit code: {status}", file=sys.stderr)
        return 1 if errors or status != 0 else 0


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="invoicing-interop-") as folder:
        service = Service(Path(folder))
        seed = service.seed()
        server, url = service.start()
        try:
            status = subprocess.run(sys.argv[1:], env=service.environment(url, seed)).returncode
        finally:
            verdict = service.verdict(server)
    return status or verdict


if __name__ == "__main__":
    sys.exit(main())

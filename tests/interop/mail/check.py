"""Letters of a server of its own, taken by aiosmtpd and read by Python's `email`.

1. An authority is made, and a certificate of `localhost` by it, which the service trusts by SSL_CERT_FILE.
2. For each way to write `smtp_url`, a reset is asked for in the way of a browser. The letter comes signed in, by TLS, and
   without a defect; its link shows the page.
3. A wrong password, a server without STARTTLS, and one whose authority nobody trusts get no letter.
"""

import email
import email.policy
import json
import logging
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

# It warns of servers that ask for a password in clear; one of these is such a server on purpose.
logging.getLogger("mail.log").setLevel(logging.ERROR)

ORIGIN = "http://localhost:8080"
USER, PASSWORD = "invoices@example.com", "pass/word@1"


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_certificate(folder: Path) -> None:
    """Step 1: `ca.pem`, `cert.pem` and `key.pem`."""
    (folder / "san").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl(folder, "req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Authority", "-days", "2")
    openssl(folder, "req", *new, "-keyout", "key.pem", "-out", "request", "-subj", "/CN=localhost")
    sign = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "san", "-days", "2"]
    openssl(folder, "x509", "-req", "-in", "request", *sign, "-out", "cert.pem")


class Taken:
    """What a mail server has taken."""

    def __init__(self) -> None:
        self.letters: list[tuple[bool, bool, list[str], bytes]] = []

    async def handle_DATA(self, server, session, envelope) -> str:  # noqa: N802
        by_tls = session.ssl is not None or server.transport.get_extra_info("ssl_object") is not None
        self.letters.append((by_tls, session.authenticated, envelope.rcpt_tos, envelope.content))
        return "250 taken"


def authenticate(_server, _session, _envelope, _mechanism, data) -> AuthResult:
    good = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=good, handled=False)


class MailServer(Controller):
    """A server that asks for a password, by STARTTLS, by TLS, or by neither."""

    def __init__(self, folder: Path, way: str) -> None:
        self.taken = Taken()
        self.way = way
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        self.starttls = context if way == "starttls" else None
        wrapped = context if way == "tls" else None
        super().__init__(self.taken, hostname="127.0.0.1", port=0, ssl_context=wrapped)

    def factory(self) -> SMTP:
        needs = {"auth_required": True, "authenticator": authenticate, "auth_require_tls": self.way == "starttls"}
        return SMTP(self.handler, tls_context=self.starttls, require_starttls=self.way == "starttls", **needs)

    def _trigger_server(self) -> None:
        """Somebody has to connect for the server to be ready; the base would, to port 0."""
        self.port = self.server.sockets[0].getsockname()[1]
        socket.create_connection(("127.0.0.1", self.port)).close()


class Service:
    """A server with Ada, who has no password yet."""

    def __init__(self, folder: Path, url: str, authority: Path) -> None:
        self.binary = os.environ["INVOICING"]
        self.database = f"sqlite:{folder / 'mail.db'}"
        self.log = folder / "mail.log"
        if not (folder / "mail.db").exists():
            self.command("team", "create", "--name", "Acme")
            self.command("user", "create", "--email", "ada@example.com", "--name", "Adä Lovelace")
        settings = {
            **{name: value for name, value in os.environ.items() if not name.startswith("INVOICING")},
            "SSL_CERT_FILE": str(authority),
            "INVOICING_SMTP_URL": url,
            "INVOICING_MAIL_FROM": "Invöices <invoices@example.com>",
            "INVOICING_ORIGIN": ORIGIN,
        }
        line = [self.binary, "serve", "--listen", "127.0.0.1:0", "--database", self.database, "--log-format", "json"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(line, env=settings, stderr=log)
        self.url = self.wait_for("url")

    def command(self, *arguments: str) -> None:
        line = [self.binary, *arguments, "--database", self.database, "--json"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("INVOICING")}
        subprocess.run(line, check=True, capture_output=True, env=environment)

    def wait_for(self, member: str, message: str = "") -> str:
        """The member of the log's line that has it, and this message."""
        for _ in range(600):
            for line in self.log.read_text().splitlines(keepends=True):
                entry = json.loads(line) if line.endswith("\n") else {}
                if member in entry and message in entry["msg"]:
                    return str(entry[member])
            time.sleep(0.05)
        self.process.kill()
        sys.exit(f"no {member} in the log:\n{self.log.read_text()}")

    def ask_for_reset(self) -> None:
        form = urllib.parse.urlencode({"email": "ada@example.com"}).encode()
        request = urllib.request.Request(f"{self.url}/reset", form, {"Origin": ORIGIN})
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert b"If there is an account" in answer.read()

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0, self.log.read_text()
        text = self.log.read_text()
        for secret in ("ada@example.com", "/reset/", "pass/word", "pass%2Fword"):
            # The route is a line's, and no link.
            assert secret not in text.replace('"/reset/{token}"', ""), f"{secret} in {text}"


def read(letter: bytes, url: str) -> None:
    """Step 2."""
    message = email.message_from_bytes(letter, policy=email.policy.default)
    defects = [*message.defects, *(defect for value in message.values() for defect in value.defects)]
    assert not defects, defects
    assert message["from"].addresses[0].display_name == "Invöices", message["from"]
    assert message["to"].addresses[0].addr_spec == "ada@example.com"
    assert message["auto-submitted"] == "auto-generated"
    assert message["message-id"].endswith("@localhost>"), message["message-id"]
    assert message["date"].datetime is not None
    assert message.get_content_type() == "text/plain"
    text = message.get_content().replace("\r\n", "\n")
    assert text.startswith("Hello Adä Lovelace,\n"), text
    path = re.search(rf"^{ORIGIN}(/reset/[\w-]{{43}})$", text, re.MULTILINE)
    assert path, text
    with urllib.request.urlopen(url + path[1], timeout=30) as page:
        assert b"Set a new password" in page.read()


def check(service: Service, taken: Taken, why: str | None) -> None:
    """Step 2, or 3 where there is a reason why no letter comes."""
    service.ask_for_reset()
    if why is not None:
        said = service.wait_for("error", "mail")
        assert why.lower() in said.lower(), said
        assert not taken.letters
        return
    service.wait_for("attempt", "mail sent")
    [(by_tls, signed_in, to, letter)] = taken.letters
    assert by_tls and signed_in and to == ["ada@example.com"], (by_tls, signed_in, to)
    read(letter, service.url)


def main() -> None:
    quoted, wrong = urllib.parse.quote(PASSWORD, safe=""), "wrong"
    user = urllib.parse.quote(USER, safe="")
    with tempfile.TemporaryDirectory(prefix="invoicing-mail-") as name:
        folder = Path(name)
        make_certificate(folder)
        for way, url, authority, why in [
            ("starttls", f"smtp://{user}:{quoted}@localhost:PORT?tls=required", "ca.pem", None),
            ("tls", f"smtps://{user}:{quoted}@localhost:PORT", "ca.pem", None),
            ("starttls", f"smtp://{user}:{wrong}@localhost:PORT?tls=required", "ca.pem", "said 535"),
            ("clear", f"smtp://{user}:{quoted}@localhost:PORT?tls=required", "ca.pem", "STARTTLS"),
            ("tls", f"smtps://{user}:{quoted}@localhost:PORT", "/etc/ssl/certs/ca-certificates.crt", "certificate"),
        ]:
            mail = MailServer(folder, way)
            mail.start()
            # Each has a database of its own: three letters an hour are sent.
            own = Path(tempfile.mkdtemp(dir=folder))
            service = Service(own, url.replace("PORT", str(mail.port)), folder / authority)
            try:
                check(service, mail.taken, why)
                service.stop()
            finally:
                service.process.kill()
                mail.stop()
            print(f"{way}: {why or 'taken and read'}")


if __name__ == "__main__":
    main()

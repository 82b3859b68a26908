"""What the scenarios know of the service; `../service.py` says it by the environment."""

import base64
import hashlib
import json
import os
import secrets
import subprocess

URL = os.environ["BASE_URL"]
CLIENT_ID = os.environ["CLIENT_ID"]
REDIRECT_URI = os.environ["REDIRECT_URI"]


def sign_in() -> tuple[str, str]:
    """A code, as the sign-in page gives it to the app, and the verifier that belongs to it."""
    verifier = secrets.token_urlsafe(32)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    command = [os.environ["INVOICING"], "auth-code", "issue", "--json", "--user", os.environ["USER_ID"]]
    command += ["--client", CLIENT_ID, "--redirect-uri", REDIRECT_URI, f"--code-challenge={challenge}"]
    return json.loads(subprocess.check_output(command))["code"], verifier

"""What the documents can only call opaque: a real cursor, code, token or item in every positive case that has one.

1. A positive `list_products` with `after` gets a cursor of its own list, that is of the same `status`, unless an answer
   of this run gave it one (by the link `next_page`).
2. A positive `exchange_token` with a code gets a code, issued as the sign-in page would do it for the case's own
   `code_verifier`. One with a refresh token begins a session and takes that of its answer; along the link `refresh` it
   takes the newest that nobody has used. (OpenAPI could put it into the body. openapi-generator refuses the document
   then: its parser knows texts alone there.)
3. `list_links` gets the team that there is unless its header is what is negative, for membership is checked before the
   rest of the request; two of three positive ones are about the file or the folder of that team.
4. Three of four positive writes to products get an idempotency key and a `sku` that nobody used before (of the same
   length): examples and boundary values come again and again, and nearly all of them would be conflicts.
5. `list_links` is called with the access token that `exchange_token` answered last, so that every pair is tried.

Negative cases stay as they were generated. Answers are counted by operation and status, for the closing line.
"""

import atexit
import base64
import hashlib
import itertools
import json
import os
import secrets
import subprocess
from collections import Counter
from pathlib import Path

import requests
import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase

URL = os.environ["BASE_URL"]


def is_positive(case: schemathesis.Case) -> bool:
    return case.meta is None or case.meta.generation.mode.is_positive


def in_phase(case: schemathesis.Case, phase: TestPhase) -> bool:
    return case.meta is not None and case.meta.phase.name == phase


class Cursors:
    """Cursors of the catalog, by the status that made them."""

    def __init__(self) -> None:
        self.http = requests.Session()
        self.http.headers["Authorization"] = f"Bearer {os.environ['API_KEY']}"
        self.known: dict[str, set[str]] = {}

    def note(self, status: str, cursor: str | None) -> None:
        if cursor is not None:
            self.known.setdefault(status, set()).add(cursor)

    def one_of(self, status: str) -> str:
        if status not in self.known:
            # Two products make two pages of one.
            for _ in range(2):
                body = {"name": "Page", "unitPrice": 1, "currency": "EUR"}
                product = self.http.post(f"{URL}/api/v1/products", json=body, timeout=10).json()["data"]["id"]
                if status == "archived":
                    self.http.delete(f"{URL}/api/v1/products/{product}", timeout=10).raise_for_status()
            page = self.http.get(f"{URL}/api/v1/products", params={"status": status, "limit": 1}, timeout=10).json()
            self.note(status, page["data"]["nextCursor"])
        return min(self.known[status])


class Sessions:
    """Refresh tokens that nobody has used yet, with the installation of their session; and the newest access token."""

    def __init__(self) -> None:
        self.unspent: dict[str, str | None] = {}
        self.access_token = os.environ.get("ACCESS_TOKEN", "")

    def note(self, tokens: dict, install_id: str | None) -> None:
        self.unspent[tokens["refresh_token"]] = install_id
        self.access_token = tokens["access_token"]

    def begin(self, install_id: str | None) -> None:
        """Begins a session, as an app does it."""
        verifier = secrets.token_urlsafe(32)
        body = {"grant_type": "authorization_code", "code_verifier": verifier, **issue_code(verifier)}
        body |= {} if install_id is None else {"install_id": install_id}
        answer = requests.post(f"{URL}/api/auth/mobile/token", json=body, timeout=10)
        answer.raise_for_status()
        self.note(answer.json(), install_id)


def issue_code(verifier: str) -> dict[str, str]:
    """The members of a token request that the sign-in page decides."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    client = {"client_id": os.environ["CLIENT_ID"], "redirect_uri": os.environ["REDIRECT_URI"]}
    command = [os.environ["INVOICING"], "auth-code", "issue", "--json", "--user", os.environ["USER_ID"]]
    command += ["--client", client["client_id"], "--redirect-uri", client["redirect_uri"]]
    command += [f"--code-challenge={challenge}"]
    return {**client, "code": json.loads(subprocess.check_output(command))["code"]}


def unused(text: str) -> str:
    """A text of the same length, with an end that never came before; short texts stay."""
    end = f"{next(NUMBERS):08}"
    return text if len(text) < len(end) else text[: -len(end)] + end


CURSORS = Cursors()
NUMBERS = itertools.count()
SESSIONS = Sessions()
ITEMS = itertools.cycle([("file", "FILE_ID"), ("folder", "FOLDER_ID"), None])
ANSWERS: Counter = Counter()


@schemathesis.hook("before_call").apply_to(operation_id="list_products")
def with_a_cursor_of_this_list(context, case, kwargs) -> None:
    if not is_positive(case):
        return
    query = dict(case.query or {})
    if in_phase(case, TestPhase.STATEFUL):
        # What the link `next_page` repeats has to be there; these are the defaults.
        query = {"status": "active", "limit": 20, **query}
    status, after = query.get("status", "active"), query.get("after")
    if after is not None and after not in CURSORS.known.get(status, ()):
        query["after"] = CURSORS.one_of(status)
    case.query = query


@schemathesis.hook("before_call").apply_to(operation_id=["create_product", "update_product"])
def without_conflicts(context, case, kwargs) -> None:
    if not is_positive(case) or next(NUMBERS) % 4 == 0:
        return
    if (key := (case.headers or {}).get("Idempotency-Key")) is not None:
        case.headers = {**case.headers, "Idempotency-Key": unused(key)}
    if isinstance(case.body, dict) and isinstance(case.body.get("sku"), str):
        case.body = {**case.body, "sku": unused(case.body["sku"])}


@schemathesis.hook("before_call").apply_to(operation_id="exchange_token")
def with_a_secret_that_works(context, case, kwargs) -> None:
    if not is_positive(case) or not isinstance(case.body, dict):
        return
    body = dict(case.body)
    match body.get("grant_type"):
        case "authorization_code":
            body |= issue_code(body["code_verifier"])
        case "refresh_token":
            requested = body.pop("install_id", None)
            if not (in_phase(case, TestPhase.STATEFUL) and SESSIONS.unspent):
                SESSIONS.begin(requested)
            body["client_id"] = os.environ["CLIENT_ID"]
            body["refresh_token"], install_id = SESSIONS.unspent.popitem()
            body |= {} if install_id is None else {"install_id": install_id}
    case.body = body


@schemathesis.hook("before_call").apply_to(operation_id="list_links")
def with_an_item_that_exists(context, case, kwargs) -> None:
    if case.meta is None or not case.meta.is_negative_at(ParameterLocation.HEADER):
        case.headers = {**(case.headers or {}), "X-Team-Id": os.environ["TEAM_ID"]}
    if is_positive(case) and (item := next(ITEMS)) is not None:
        target_type, variable = item
        case.path_parameters = {**case.path_parameters, "targetType": target_type, "id": os.environ[variable]}


@schemathesis.hook
def after_call(context, case, response) -> None:
    operation = case.operation.definition.raw["operationId"]
    ANSWERS[operation, response.status_code] += 1
    if response.status_code == 200 and operation == "list_products":
        status = (case.query or {}).get("status", "active")
        CURSORS.note(status, response.json()["data"]["nextCursor"])
    if response.status_code == 200 and operation == "exchange_token":
        SESSIONS.note(response.json(), case.body.get("install_id"))


@schemathesis.auth(refresh_interval=None).apply_to(operation_id="list_links")
class NewestAccessToken:
    """What `list_links` is called with."""

    def get(self, case, context) -> str:
        return SESSIONS.access_token

    def set(self, case, token, context) -> None:
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {token}"}


@atexit.register
def write_answers() -> None:
    counts = {}
    for (operation, status), count in sorted(ANSWERS.items()):
        counts.setdefault(operation, {})[str(status)] = count
    if counts:
        file = Path(os.environ["INTEROP_FOLDER"]) / f"answers-{os.getpid()}.json"
        file.write_text(json.dumps(counts))

"""Authlib on `requests`, as an app would use it: sign in with PKCE, call, refresh when the token has expired."""

import json
import os
import subprocess
import time
import unittest
from urllib.parse import parse_qs, urlparse

from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session

from bridge import JsonForForms

URL = os.environ["BASE_URL"]
TOKEN_ENDPOINT = f"{URL}/api/auth/mobile/token"
LINKS = f"{URL}/api/mobile/items/file/{os.environ['FILE_ID']}/links"
TEAM = {"X-Team-Id": os.environ["TEAM_ID"]}


def signed_in(authorization_url: str) -> str:
    """Where the sign-in page sends the person back to, having read the app's request."""
    asked = {name: values[0] for name, values in parse_qs(urlparse(authorization_url).query).items()}
    command = [os.environ["INVOICING"], "auth-code", "issue", "--json", "--user", os.environ["USER_ID"]]
    command += ["--client", asked["client_id"], "--redirect-uri", asked["redirect_uri"]]
    command += [f"--code-challenge={asked['code_challenge']}"]
    assert asked["code_challenge_method"] == "S256"
    code = json.loads(subprocess.check_output(command))["code"]
    return f"{asked['redirect_uri']}?code={code}&state={asked['state']}"


class Authlib(unittest.TestCase):
    def setUp(self) -> None:
        self.app = OAuth2Session(
            client_id=os.environ["CLIENT_ID"],
            redirect_uri=os.environ["REDIRECT_URI"],
            code_challenge_method="S256",
            token_endpoint=TOKEN_ENDPOINT,
            token_endpoint_auth_method="none",
        )
        self.addCleanup(self.app.close)
        self.app.mount(TOKEN_ENDPOINT, JsonForForms())

    def sign_in(self, **more: str) -> dict:
        verifier = generate_token(64)
        url, state = self.app.create_authorization_url("https://invoicing.example/sign-in", code_verifier=verifier)
        back = {"authorization_response": signed_in(url), "state": state, "code_verifier": verifier}
        return self.app.fetch_token(TOKEN_ENDPOINT, **back | more)

    def refused(self, error: str, call, *arguments, **more) -> None:
        with self.assertRaises(OAuthError) as caught:
            call(*arguments, **more)
        self.assertEqual(caught.exception.error, error)
        self.assertTrue(caught.exception.description)

    def test_signs_in_and_calls(self) -> None:
        tokens = self.sign_in()
        self.assertEqual(tokens["token_type"], "Bearer")
        self.assertAlmostEqual(tokens["expires_at"], time.time() + 3600, delta=60)
        self.assertEqual(len(self.app.get(LINKS, headers=TEAM).json()["data"]["data"]), 2)

    def test_refreshes_an_expired_token_before_a_call(self) -> None:
        before = self.sign_in()["refresh_token"]
        self.app.token["expires_at"] = int(time.time()) - 1
        self.assertEqual(self.app.get(LINKS, headers=TEAM).status_code, 200)
        self.assertNotEqual(self.app.token["refresh_token"], before)

    def test_a_session_of_an_installation_refreshes_with_it(self) -> None:
        self.sign_in(install_id="phone")
        self.refused("invalid_grant", self.app.refresh_token, TOKEN_ENDPOINT)
        self.app.refresh_token(TOKEN_ENDPOINT, install_id="phone")

    def test_another_verifier_is_invalid_grant(self) -> None:
        self.refused("invalid_grant", self.sign_in, code_verifier=generate_token(64))

    def test_a_verifier_that_is_too_short_is_invalid_request(self) -> None:
        self.refused("invalid_request", self.sign_in, code_verifier="short")

    def test_another_grant_is_unsupported(self) -> None:
        self.refused("unsupported_grant_type", self.app.fetch_token, TOKEN_ENDPOINT, grant_type="client_credentials")

    def test_a_form_without_the_bridge_is_an_oauth_error(self) -> None:
        del self.app.adapters[TOKEN_ENDPOINT]
        self.refused("invalid_request", self.sign_in)


if __name__ == "__main__":
    unittest.main()

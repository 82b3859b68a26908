"""The scenario, by the client that openapi-python-client makes."""

import os
import unittest
from typing import Any, cast
from uuid import UUID, uuid4

import catalog_httpx as catalog
import mobile_httpx as mobile
from catalog_httpx.api.products import archive_product, create_product, get_product, list_products, update_product
from catalog_httpx.models import CreateProduct, CurrencyCode, ErrorResponse, ProductResponse, UpdateProduct
from catalog_httpx.models import ProductPageResponse
from mobile_httpx.api.links import list_links
from mobile_httpx.api.sessions import exchange_token
from mobile_httpx.models import AuthorizationCodeGrant, AuthorizationCodeGrantType, RefreshTokenGrant
from mobile_httpx.models import RefreshTokenGrantType, ShareLinkPageResponse, TargetType, TokenError, TokenResponse

from environment import CLIENT_ID, REDIRECT_URI, URL, sign_in


def new_product(**more: Any) -> CreateProduct:
    return CreateProduct(**{"name": "Stamp", "unit_price": 0.1, "currency": CurrencyCode.EUR, **more})


class Products(unittest.TestCase):
    def setUp(self) -> None:
        self.client = self.with_key("API_KEY")

    def with_key(self, variable: str) -> catalog.AuthenticatedClient:
        return catalog.AuthenticatedClient(base_url=URL, token=os.environ.get(variable, "nobody"))

    def create(self, **more: Any) -> ProductResponse:
        answer = create_product.sync(client=self.client, body=new_product(**more))
        assert isinstance(answer, ProductResponse), answer
        return answer

    def refused(self, code: str, answer: Any) -> None:
        assert isinstance(answer, ErrorResponse), answer
        self.assertEqual(answer.error.code, code)

    def test_create_replay_and_clear(self) -> None:
        key, body = str(uuid4()), new_product(description="Self-adhesive", sku=str(uuid4()))
        first = create_product.sync_detailed(client=self.client, body=body, idempotency_key=key)
        assert isinstance(first.parsed, ProductResponse)
        self.assertEqual((first.status_code, first.parsed.data.unit_price), (201, 0.1))
        again = create_product.sync_detailed(client=self.client, body=body, idempotency_key=key)
        self.assertEqual((again.parsed, again.headers["Idempotency-Replayed"]), (first.parsed, "true"))

        cleared = update_product.sync(first.parsed.data.id, client=self.client, body=UpdateProduct(description=None))
        assert isinstance(cleared, ProductResponse)
        self.assertEqual((cleared.data.description, cleared.data.sku), (None, body.sku))

    def test_walk_all_pages(self) -> None:
        made = [self.create().data.id for _ in range(5)]
        seen: list[UUID] = []
        more: dict[str, Any] = {}
        while True:
            page = list_products.sync(client=self.client, limit=2, **more)
            assert isinstance(page, ProductPageResponse)
            seen += [product.id for product in page.data.data]
            if not page.data.has_more:
                break
            more = {"after": page.data.next_cursor}
        self.assertEqual(seen[:5], made[::-1])
        self.assertEqual(len(seen), len(set(seen)))

    def test_each_error_has_its_code(self) -> None:
        client, reader = self.client, self.with_key("READ_ONLY_API_KEY")
        product = self.create(sku=str(uuid4())).data
        self.refused("invalid_body", create_product.sync(client=client, body=new_product(name="", unit_price=-1)))
        self.refused("invalid_query", list_products.sync(client=client, limit=101))
        spaced = create_product.sync(client=client, body=new_product(), idempotency_key="with a space")
        self.refused("invalid_header", spaced)
        self.refused("invalid_path", get_product.sync(cast(UUID, "nonsense"), client=client))
        self.refused("invalid_token", list_products.sync(client=self.with_key("NO_KEY")))
        self.refused("scope_insufficient", create_product.sync(client=reader, body=new_product()))
        self.refused("product_not_found", get_product.sync(uuid4(), client=client))
        self.refused("duplicate_sku", create_product.sync(client=client, body=new_product(sku=product.sku)))
        self.refused("body_too_large", create_product.sync(client=client, body=new_product(name="x" * 70_000)))
        key = str(uuid4())
        create_product.sync(client=client, body=new_product(), idempotency_key=key)
        reused = create_product.sync(client=client, body=new_product(tax_rate=7), idempotency_key=key)
        self.refused("idempotency_key_reused", reused)
        self.assertIsNone(archive_product.sync(product.id, client=client))
        self.refused("already_archived", archive_product.sync(product.id, client=client))


class Devices(unittest.TestCase):
    def begin(self, **changed: str) -> TokenResponse | TokenError | None:
        code, verifier = sign_in()
        secrets = {"code": code, "code_verifier": verifier, "redirect_uri": REDIRECT_URI, "client_id": CLIENT_ID}
        grant = AuthorizationCodeGrant(AuthorizationCodeGrantType.AUTHORIZATION_CODE, **{**secrets, **changed})
        return exchange_token.sync(client=mobile.Client(base_url=URL), body=grant)

    def refresh(self, token: str) -> TokenResponse | TokenError | None:
        grant = RefreshTokenGrant(RefreshTokenGrantType.REFRESH_TOKEN, token, CLIENT_ID)
        return exchange_token.sync(client=mobile.Client(base_url=URL), body=grant)

    def links(self, token: str, team: str, file: UUID) -> Any:
        client = mobile.AuthenticatedClient(base_url=URL, token=token)
        # It declares a UUID for the header, and sends only text.
        return list_links.sync(TargetType.FILE, file, client=client, x_team_id=cast(UUID, team))

    def test_sign_in_refresh_and_list_links(self) -> None:
        tokens = self.begin()
        assert isinstance(tokens, TokenResponse)
        fresh = self.refresh(tokens.refresh_token)
        assert isinstance(fresh, TokenResponse)
        links = self.links(fresh.access_token, os.environ["TEAM_ID"], UUID(os.environ["FILE_ID"]))
        assert isinstance(links, ShareLinkPageResponse)
        self.assertEqual(len(links.data.data), 2)

    def test_each_error_has_its_code(self) -> None:
        for code, answer in [
            ("invalid_grant", self.begin(code_verifier="x" * 43)),
            ("invalid_client", self.begin(client_id="nobody")),
            ("invalid_request", self.begin(code_verifier="short")),
            ("invalid_grant", self.refresh("nonsense")),
        ]:
            assert isinstance(answer, TokenError)
            self.assertEqual(answer.error, code)
        tokens = self.begin()
        assert isinstance(tokens, TokenResponse)
        team = os.environ["TEAM_ID"]
        for code, token, of in [
            ("invalid_token", "nonsense", team),
            ("invalid_header", tokens.access_token, "nonsense"),
            ("not_a_member", tokens.access_token, os.environ["OTHER_TEAM_ID"]),
            ("item_not_found", tokens.access_token, team),
        ]:
            self.assertEqual(self.links(token, of, uuid4()).error.code, code)


if __name__ == "__main__":
    unittest.main()

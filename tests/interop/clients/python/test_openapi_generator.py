"""The scenario, by the client that openapi-generator makes for Python."""

import os
import unittest
from typing import Any, Callable
from uuid import UUID, uuid4

import catalog_client as catalog
import mobile_client as mobile

from environment import CLIENT_ID, REDIRECT_URI, URL, sign_in


def products(key: str) -> catalog.ProductsApi:
    return catalog.ProductsApi(catalog.ApiClient(catalog.Configuration(host=URL, access_token=key)))


def new_product(**more: Any) -> catalog.CreateProduct:
    return catalog.CreateProduct(name="Stamp", unitPrice=0.1, currency=catalog.CurrencyCode.EUR, **more)


class Products(unittest.TestCase):
    def setUp(self) -> None:
        self.api = products(os.environ["API_KEY"])

    def refused(self, code: str, call: Callable[..., Any], *arguments: Any, **more: Any) -> None:
        with self.assertRaises(catalog.ApiException) as caught:
            call(*arguments, **more)
        assert caught.exception.data is not None, caught.exception
        self.assertEqual(caught.exception.data.error.code, code)

    def test_create_replay_and_clear(self) -> None:
        key = str(uuid4())
        product = new_product(description="Self-adhesive", sku=str(uuid4()))
        first = self.api.create_product_with_http_info(product, idempotency_key=key)
        self.assertEqual((first.status_code, first.data.data.unit_price), (201, 0.1))
        again = self.api.create_product_with_http_info(product, idempotency_key=key)
        assert again.headers is not None
        self.assertEqual((again.data, again.headers["idempotency-replayed"]), (first.data, "true"))

        cleared = self.api.update_product(first.data.data.id, catalog.UpdateProduct(description=None)).data
        self.assertIsNone(cleared.description)
        self.assertEqual(cleared.sku, product.sku)

    def test_walk_all_pages(self) -> None:
        made = [self.api.create_product(new_product()).data.id for _ in range(5)]
        seen: list[UUID] = []
        after = None
        while True:
            page = self.api.list_products(limit=2, after=after).data
            seen += [product.id for product in page.data]
            if not page.has_more:
                break
            after = page.next_cursor
        self.assertEqual(seen[:5], made[::-1])
        self.assertEqual(len(seen), len(set(seen)))

    def test_each_error_has_its_code(self) -> None:
        reader, stranger = products(os.environ["READ_ONLY_API_KEY"]), products("inv_live_nobody")
        product = self.api.create_product(new_product(sku=str(uuid4()))).data
        # The client checks bodies itself, unless they are made like this.
        unchecked = catalog.CreateProduct.model_construct(name="", unit_price=-1, currency="Euro")
        self.refused("invalid_body", self.api.create_product, unchecked)
        self.refused("invalid_query", self.api.list_products, after="nonsense")
        self.refused("invalid_header", self.api.create_product, new_product(), idempotency_key="with a space")
        self.refused("invalid_token", stranger.list_products)
        self.refused("scope_insufficient", reader.create_product, new_product())
        self.refused("product_not_found", self.api.get_product, uuid4())
        self.refused("duplicate_sku", self.api.create_product, new_product(sku=product.sku))
        huge = catalog.CreateProduct.model_construct(name="x" * 70_000, unit_price=1, currency="EUR")
        self.refused("body_too_large", self.api.create_product, huge)
        key = str(uuid4())
        self.api.create_product(new_product(), idempotency_key=key)
        self.refused("idempotency_key_reused", self.api.create_product, new_product(taxRate=7), idempotency_key=key)
        self.api.archive_product(product.id)
        self.refused("already_archived", self.api.archive_product, product.id)


class Devices(unittest.TestCase):
    def setUp(self) -> None:
        self.sessions = mobile.SessionsApi(mobile.ApiClient(mobile.Configuration(host=URL)))

    def begin(self, **changed: str) -> mobile.TokenResponse:
        code, verifier = sign_in()
        secrets = {"code": code, "code_verifier": verifier, "redirect_uri": REDIRECT_URI, "client_id": CLIENT_ID}
        grant = mobile.AuthorizationCodeGrant.model_validate(
            {"grant_type": mobile.AuthorizationCodeGrantType.AUTHORIZATION_CODE, **secrets, **changed}
        )
        return self.sessions.exchange_token(mobile.TokenRequest(grant))

    def refresh(self, token: str) -> mobile.TokenResponse:
        grant = mobile.RefreshTokenGrant(
            grant_type=mobile.RefreshTokenGrantType.REFRESH_TOKEN, refresh_token=token, client_id=CLIENT_ID
        )
        return self.sessions.exchange_token(mobile.TokenRequest(grant))

    def links(self, token: str) -> mobile.LinksApi:
        return mobile.LinksApi(mobile.ApiClient(mobile.Configuration(host=URL, access_token=token)))

    def refused(self, code: str, call: Callable[..., Any], *arguments: Any, **more: Any) -> None:
        with self.assertRaises(mobile.ApiException) as caught:
            call(*arguments, **more)
        data = caught.exception.data
        assert data is not None, caught.exception
        self.assertEqual(data.error if isinstance(data.error, str) else data.error.code, code)

    def test_sign_in_refresh_and_list_links(self) -> None:
        fresh = self.refresh(self.begin().refresh_token)
        team, file = UUID(os.environ["TEAM_ID"]), UUID(os.environ["FILE_ID"])
        links = self.links(fresh.access_token).list_links(team, mobile.TargetType.FILE, file).data.data
        self.assertEqual(len(links), 2)

    def test_each_error_has_its_code(self) -> None:
        self.refused("invalid_grant", self.begin, code_verifier="x" * 43)
        self.refused("invalid_client", self.begin, client_id="nobody")
        self.refused("invalid_grant", self.refresh, "nonsense")
        unchecked = mobile.RefreshTokenGrant.model_construct(grant_type="password", refresh_token="x", client_id="x")
        request = mobile.TokenRequest.model_construct(actual_instance=unchecked)
        self.refused("unsupported_grant_type", self.sessions.exchange_token, request)
        unchecked = mobile.RefreshTokenGrant.model_construct(grant_type="refresh_token")
        request = mobile.TokenRequest.model_construct(actual_instance=unchecked)
        self.refused("invalid_request", self.sessions.exchange_token, request)

        api, team, file = self.links(self.begin().access_token), UUID(os.environ["TEAM_ID"]), mobile.TargetType.FILE
        self.refused("invalid_token", self.links("nonsense").list_links, team, file, uuid4())
        self.refused("not_a_member", api.list_links, UUID(os.environ["OTHER_TEAM_ID"]), file, uuid4())
        self.refused("item_not_found", api.list_links, team, file, uuid4())


if __name__ == "__main__":
    unittest.main()

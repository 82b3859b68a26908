"""The catalog by connexion: routes and checks of requests are its own, from the document.

    uvicorn connexion_app:app, with DOCUMENT and DATABASE in the environment
"""

import json
import os

from connexion import AsyncApp, request
from connexion.lifecycle import ConnexionResponse
from connexion.options import SwaggerUIOptions
from connexion.resolver import RelativeResolver

from store import ApiError, Store

store = Store(os.environ["DATABASE"])


def api_key(key: str) -> dict | None:
    caller = store.find_api_key(key)
    return caller and {"caller": caller}


async def get_product(id: str, token_info: dict) -> dict:
    return {"data": store.get_product(token_info["caller"], id)}


async def list_products(token_info: dict, status: str = "active", limit: int = 20, after: str | None = None) -> dict:
    return {"data": store.list_products(token_info["caller"], status, limit, after)}


async def create_product(body: dict, token_info: dict) -> ConnexionResponse:
    created = store.create_product(token_info["caller"], body, request.headers.get("Idempotency-Key"))
    return ConnexionResponse(201, body=created.body, headers=created.headers(), content_type="application/json")


def refuse(_, refusal: ApiError) -> ConnexionResponse:
    return ConnexionResponse(refusal.status, body=json.dumps(refusal.body), content_type="application/json")


os.environ["BEARERINFO_FUNC"] = f"{__name__}.api_key"
app = AsyncApp(__name__, strict_validation=True, swagger_ui_options=SwaggerUIOptions(swagger_ui=False))
# Two operations are not asked for, and answer 501.
app.add_api(os.environ["DOCUMENT"], resolver=RelativeResolver(__name__), resolver_error=501)
app.add_error_handler(ApiError, refuse)

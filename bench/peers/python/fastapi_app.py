"""The catalog by FastAPI: requests are checked by the types that datamodel-code-generator makes from the document
(`models.py`), and by their parameters.

    uvicorn fastapi_app:app, with DATABASE in the environment
"""

import os
from typing import Annotated
from uuid import UUID

from fastapi import Depends, FastAPI, Header, Query, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from models import CreateProduct, ProductStatusFilter
from store import Caller, ApiError, Store

store = Store(os.environ["DATABASE"])
app = FastAPI(title="Product catalog API", openapi_url=None)


class PageQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    status: ProductStatusFilter = ProductStatusFilter.active
    limit: int = Field(20, ge=1, le=100)
    after: str | None = Field(None, min_length=1, max_length=512, pattern="^[A-Za-z0-9_-]+$")


IdempotencyKey = Annotated[str | None, Header(min_length=1, max_length=255, pattern="^[!-~]+$")]


async def api_key(credentials: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> Caller:
    caller = store.find_api_key(credentials.credentials)
    if caller is None:
        raise ApiError(401, "invalid_token")
    return caller


ApiKey = Annotated[Caller, Depends(api_key)]


@app.get("/api/v1/products/{id}")
async def get_product(caller: ApiKey, id: UUID) -> Response:
    return JSONResponse({"data": store.get_product(caller, str(id))})


@app.get("/api/v1/products")
async def list_products(caller: ApiKey, query: Annotated[PageQuery, Query()]) -> Response:
    return JSONResponse({"data": store.list_products(caller, query.status.value, query.limit, query.after)})


@app.post("/api/v1/products")
async def create_product(caller: ApiKey, product: CreateProduct, idempotency_key: IdempotencyKey = None) -> Response:
    created = store.create_product(caller, product.model_dump(mode="json", exclude_unset=True), idempotency_key)
    return Response(created.body, 201, created.headers(), "application/json")


@app.exception_handler(ApiError)
async def refuse(_, refusal: ApiError) -> Response:
    return JSONResponse(refusal.body, refusal.status)

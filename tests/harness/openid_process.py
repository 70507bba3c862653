"""The process of the OpenID provider: the package oidc-provider-mock, which can also send forged ID tokens.

A person with the claim `forge` gets one, of the kind that the claim names.
"""

import json
import os
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import oidc_provider_mock
from flask import Response, request
from werkzeug.serving import run_simple


def forged(id_token: str) -> str:
    """The token as it is, or as the claim `forge` in it wants it."""
    header, payload, signature = id_token.split(".")
    claims = json.loads(urlsafe_b64decode(f"{payload}=="))
    match claims.get("forge"):
        case "payload":
            return f"{header}.{encoded(claims | {'sub': 'admin'})}.{signature}"
        case "unsigned":
            return f"{encoded({'alg': 'none'})}.{payload}."
        case "symmetric":  # signed with what everybody knows
            return f"{encoded({'alg': 'HS256'})}.{payload}.{signature}"
        case _:
            return id_token


def encoded(part: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def forge_token(response: Response) -> Response:
    told = response.get_json() if request.path == "/oauth2/token" else {}
    if "id_token" in told:
        response.set_data(json.dumps({**told, "id_token": forged(told["id_token"])}))
    return response


if __name__ == "__main__":
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # it has no TLS
    app = oidc_provider_mock.app(require_nonce="--without-nonce" not in sys.argv)
    app.after_request(forge_token)
    run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)

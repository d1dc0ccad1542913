"""The registered App: who it is, what it may do, and whether a JWT is really its own."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass, field
from functools import cache

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

LONGEST_JWT_SECONDS = 600
PERMISSIONS = {
    "checks": "write",
    "contents": "read",
    "issues": "read",
    "metadata": "read",
    "pull_requests": "write",
}
EVENTS = (
    "check_run",
    "check_suite",
    "issue_comment",
    "merge_group",
    "pull_request",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "repository",
)


@cache
def _key_pem() -> str:
    """One RSA key a process: making one takes a tenth of a second."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()


@dataclass
class App:
    id: int = 1001
    slug: str = "preflight"
    client_id: str = "Iv23liStandInPreflight"
    client_secret: str = field(default_factory=lambda: secrets.token_hex(20), repr=False)
    callback_urls: tuple[str, ...] = ()
    private_key: str = field(default_factory=_key_pem, repr=False)
    webhook_secret: str = "It's a Secret to Everybody"
    permissions: dict[str, str] = field(default_factory=lambda: dict(PERMISSIONS))
    events: tuple[str, ...] = EVENTS

    @property
    def bot_login(self) -> str:
        return f"{self.slug}[bot]"

    def sign(self, now: float, seconds: int) -> str:
        """An App token as a well-behaved client makes it: issued a minute ago, ending ``seconds`` from now."""
        claims = {"iat": int(now) - 60, "exp": int(now) + seconds, "iss": str(self.id)}
        return jwt.encode(claims, self.private_key, algorithm="RS256")

    def jwt_complaint(self, token: str, now: float) -> str | None:
        """Why GitHub would refuse a JWT, in its words, or None."""
        key = serialization.load_pem_private_key(self.private_key.encode(), password=None)
        if not isinstance(key, rsa.RSAPrivateKey):
            return "A JSON web token could not be decoded"
        checks = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
        try:
            claims = jwt.decode(token, key.public_key(), algorithms=["RS256"], options=checks)  # type: ignore[arg-type]
        except jwt.PyJWTError:
            return "A JSON web token could not be decoded"
        issued, expires = claims.get("iat"), claims.get("exp")
        if not isinstance(expires, int) or not isinstance(issued, int):
            return "'Expiration time' claim ('exp') and 'Issued at' claim ('iat') must be numeric"
        if expires <= now:
            return "'Expiration time' claim ('exp') must be a numeric value representing the future time"
        if expires > now + LONGEST_JWT_SECONDS:
            return "'Expiration time' claim ('exp') is too far in the future"
        if issued > now:
            return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
        if str(claims.get("iss")) not in (str(self.id), self.client_id):
            return "Integration not found"
        return None


def installation_token(app_id: int) -> str:
    """In the form that GitHub began to issue in 2026: about 520 characters, with dots; nothing may rely on 40."""
    part = [base64.urlsafe_b64encode(secrets.token_bytes(size)).decode().rstrip("=") for size in (27, 226, 128)]
    return f"ghs_{app_id}_{'.'.join(part)}"

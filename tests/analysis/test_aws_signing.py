"""Signatures are those of AWS' published test suite for Signature Version 4."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitops_bg.analysis.providers.cloudwatch import AwsCredentials, SigningScope, signed

CREDENTIALS = AwsCredentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
SCOPE = SigningScope("us-east-1", "service", datetime(2015, 8, 30, 12, 36, tzinfo=UTC))

PUBLISHED = {
    "get-vanilla": ("GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    "post-vanilla": ("POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    "get-vanilla-query-order-key-case": (
        "GET",
        "/?Param2=value2&Param1=value1",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_signature_is_the_published_one_of(name: str) -> None:
    method, path, signature = PUBLISHED[name]
    headers = signed(method, f"https://example.amazonaws.com{path}", {}, b"", SCOPE, CREDENTIALS)
    assert headers["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders=host;x-amz-date, Signature={signature}"
    )


def test_a_session_token_is_signed_too() -> None:
    session = AwsCredentials("AKID", "secret", "token")
    headers = signed("GET", "https://example.amazonaws.com/", {}, b"", SCOPE, session)
    assert headers["X-Amz-Security-Token"] == "token"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token" in headers["Authorization"]

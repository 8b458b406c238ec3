"""Every character of Unicode reaches the API server by every verb as it is, whoever carries the request."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import CONFIG_MAPS
from tests.support import manifests
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import config_maps
from tests.support.cluster.rawapi import Json

PLANE = 0x10000
HALVES = range(0xD800, 0xE000)


def plane(number: int) -> str:
    """Every character of one of the seventeen planes; halves of characters are none."""
    return "".join(chr(code) for code in range(number * PLANE, (number + 1) * PLANE) if code not in HALVES)


@pytest.fixture(params=["plain", "library"])
def client(request: pytest.FixtureRequest, cluster: TestCluster) -> Iterator[Client]:
    """A client by either transport."""
    made = Client(Access(cluster.kubeconfig, plain_first=request.param == "plain"))
    yield made
    made.close()


def differing(text: str, expected: str) -> list[str]:
    """The characters that did not arrive, in ASCII; all of them would flood a report."""
    if len(text) != len(expected):
        return [f"{len(text)} characters instead of {len(expected)}"]
    return [
        f"{ord(theirs):x} became {ord(ours):x}" for ours, theirs in zip(text, expected, strict=True) if ours != theirs
    ]


def test_all_of_unicode_can_be_applied(client: Client, namespace: str) -> None:
    for number in range((sys.maxunicode + 1) // PLANE):
        text = plane(number)
        made = client.apply(CONFIG_MAPS, manifests.config_map(namespace, text=text), force=True)
        assert differing(made["data"]["text"], text) == [], number


def test_a_text_arrives_by_every_verb(client: Client, cluster: TestCluster, namespace: str) -> None:
    text = "\0\x1b\x7f\x85\xa0 ü 青 \u2028 \ufeff \uffff 🚀 \U0010ffff \\ud83d\\ude80 \"'\\/"

    def live() -> Json:
        return cluster.get(f"{config_maps(namespace)}/one")["data"]

    client.create(CONFIG_MAPS, manifests.config_map(namespace, created=text))
    client.merge_patch(CONFIG_MAPS, namespace, "one", {"data": {"merged": text}})
    client.json_patch(CONFIG_MAPS, namespace, "one", [{"op": "add", "path": "/data/patched", "value": text}])
    assert live() == {"created": text, "merged": text, "patched": text}
    found = client.get(CONFIG_MAPS, namespace, "one")
    assert found is not None
    client.replace(CONFIG_MAPS, found | {"data": {"replaced": text}})
    assert live() == {"replaced": text}


def test_half_a_character_is_replaced_by_every_verb(client: Client, namespace: str) -> None:
    made = client.apply(CONFIG_MAPS, manifests.config_map(namespace, text="a\ud83db"), force=True)
    assert made["data"] == {"text": "a\ufffdb"}
    merged = client.merge_patch(CONFIG_MAPS, namespace, "one", {"data": {"text": "\ude80"}})
    assert merged["data"] == {"text": "\ufffd"}

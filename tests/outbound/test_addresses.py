"""Where metrics, hooks and alerts may go: the rules, and that what was checked is what is connected to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from gitops_bg.outbound.addresses import ORDINARY, AddressRules, networks
from gitops_bg.outbound.http import HttpAnswer, HttpRequest, MeasuringFailed, Poster, PostFailed, Trust, ask
from tests.support.servers.backend import Backend, serving

REFUSED = {
    "127.0.0.1": "this machine itself",
    "127.8.9.10": "this machine itself",
    "::1": "this machine itself",
    "0.0.0.0": "this machine itself",
    "::": "this machine itself",
    "::ffff:127.0.0.1": "this machine itself",
    "64:ff9b::7f00:1": "this machine itself",
    "2002:7f00:1::": "this machine itself",
    "169.254.169.254": "link-local, as the metadata of clouds are",
    "::ffff:169.254.169.254": "link-local, as the metadata of clouds are",
    "64:ff9b::a9fe:a9fe": "link-local, as the metadata of clouds are",
    "fe80::1%eth0": "link-local, as the metadata of clouds are",
    "fd00:ec2::254": "where a cloud has its metadata",
    "100.100.100.200": "where a cloud has its metadata",
    "168.63.129.16": "where a cloud has its metadata",
    "224.0.0.1": "no address of one machine",
}


@pytest.mark.parametrize("address", REFUSED)
def test_by_default_no_call_goes_to_this_machine_the_node_or_a_cloud_s_metadata(address: str) -> None:
    assert f" is {REFUSED[address]}: --allow-address " in ORDINARY.refusal(address)


@pytest.mark.parametrize(
    "address", ["10.0.0.7", "192.168.1.1", "172.16.0.1", "93.184.216.34", "2606:4700::1111", "fd12::1"]
)
def test_services_of_the_cluster_and_of_the_internet_are_permitted(address: str) -> None:
    assert ORDINARY.refusal(address) == ""


def test_what_is_denied_counts_before_what_is_allowed() -> None:
    rules = AddressRules(networks(["127.0.0.0/8", "169.254.169.254"]), networks(["10.0.0.0/8", "127.0.0.2"]))
    assert rules.refusal("127.0.0.1") == rules.refusal("169.254.169.254") == ""
    assert rules.refusal("127.0.0.2") == "127.0.0.2 is denied by --deny-address"
    assert rules.refusal("10.1.2.3") == "10.1.2.3 is denied by --deny-address"
    assert "link-local" in rules.refusal("169.254.169.253")


@pytest.fixture
def backend() -> Iterator[Backend]:
    with serving() as server:
        server.says({"ok": True})
        yield server


LOOPBACK = AddressRules(networks(["127.0.0.0/8", "::1"]))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_measurement_goes_nowhere_else(host: str, backend: Backend) -> None:
    url = backend.url.replace("127.0.0.1", host)
    with pytest.raises(MeasuringFailed, match="this machine itself: --allow-address"):
        ask(HttpRequest(url), ORDINARY)
    assert backend.asked == []
    assert ask(HttpRequest(url), LOOPBACK).json() == {"ok": True}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_hook_or_an_alert_goes_nowhere_else(host: str, backend: Backend) -> None:
    url = backend.url.replace("127.0.0.1", host)
    with pytest.raises(PostFailed, match="this machine itself: --allow-address"):
        post(ORDINARY, url)
    assert backend.asked == []
    assert post(LOOPBACK, url).status == 200


def test_a_name_that_leads_elsewhere_when_it_is_asked_again_gains_nothing(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was checked is what is connected to: the name is resolved once."""
    resolve, times = socket.getaddrinfo, []

    def rebinding(host: Any, *given: Any, **more: Any) -> Any:
        if host != "rebinding.example":
            return resolve(host, *given, **more)
        times.append(host)
        return resolve("127.0.0.2" if len(times) == 1 else "127.0.0.1", *given, **more)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    rules = AddressRules(networks(["127.0.0.2"]))
    port = backend.url.rpartition(":")[2]
    with pytest.raises(MeasuringFailed, match="cannot be asked"):
        ask(HttpRequest(f"http://rebinding.example:{port}/"), rules)
    assert (times, backend.asked) == (["rebinding.example"], [])


def test_of_several_addresses_only_the_permitted_ones_are_tried(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve = socket.getaddrinfo

    def both(host: Any, *given: Any, **more: Any) -> Any:
        if host != "two.example":
            return resolve(host, *given, **more)
        return [*resolve("169.254.169.254", *given, **more), *resolve("127.0.0.1", *given, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    assert ask(HttpRequest(backend.url.replace("127.0.0.1", "two.example")), LOOPBACK).json() == {"ok": True}


def post(rules: AddressRules, url: str) -> HttpAnswer:
    async def once() -> HttpAnswer:
        poster = Poster(rules)
        try:
            return await poster.post(url, [], b"{}", trust=Trust(), most=1000)
        finally:
            await poster.close()

    return asyncio.run(once())

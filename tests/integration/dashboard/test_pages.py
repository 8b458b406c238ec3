"""The pages of a running agent over HTTP, as a browser without scripts gets them."""

from __future__ import annotations

import re
from html import unescape

import httpx
import pytest

from gitops_bg.web.dashboard.app import dashboard_server
from tests.integration.dashboard.shop import Shop
from tests.support.scenario import STATE_BRANCH
from tests.support.waiting import eventually


def text_of(answer: httpx.Response) -> str:
    """What people read of a page, in one line."""
    body = re.split("<main[^>]*>|</main>", answer.text)[1]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def test_the_first_page_shows_what_waits_for_people_before_all_else(http: httpx.Client) -> None:
    answer = http.get("/")
    shown = text_of(answer)
    assert answer.status_code == 200
    before, _, table = shown.partition("App Phase Live Next Waits for Changed")
    assert "5 in this cluster" in before
    assert "who promotes this app : merge the promotion branch, or promote it" in before
    assert "shop/ catalog ✔ Healthy 1.5.0 (v2)" in table
    assert "shop/ web ‖ AwaitingPromotion 1.4.0 (v1) 1.5.0 (v2) policy night-rest: available for 2d" in table
    assert re.search(r"policy night-rest: available for 2d, until [\d :-]+ UTC 1d23h left", table)


def test_what_is_asked_for_stands_in_the_address(http: httpx.Client) -> None:
    shown = text_of(http.get("/", params={"q": "registry.example/cart"}))
    assert "shop/ cart" in shown
    assert "shop/ web" not in shown
    assert "shop/ search ‖ Held" in text_of(http.get("/", params={"phase": "Held"}))
    assert "Nothing fits. Show all 5" in text_of(http.get("/", params={"q": "no such thing"}))


def test_an_app_shows_what_serves_since_when_by_whom_and_what_is_next(http: httpx.Client, shop: Shop) -> None:
    shown = text_of(http.get("/apps/shop/web"))
    assert re.search(r"Live 1\.4\.0 \(v1\) since .* ago .* deployed by gitops-bg, [0-9a-f]{10}", shown)
    assert re.search(r"Next 1\.5\.0 \(v2\) written by Ada Pusher, [0-9a-f]{10} : Show prices in dollars", shown)
    assert "availability open: its pods are available" in shown
    assert "policy shut: night-rest: available for 2d" in shown
    assert "approval shut: waiting for the promotion branch to be merged" in shown
    assert "spec.containers[web].env[CURRENCY].value: EUR → USD" in shown
    assert "spec.containers[web].image: registry.example/web:1.4.0 → registry.example/web:1.5.0" in shown
    assert "candidate 1.4.0 (v1) → to 1.5.0 (v2)" in shown


def test_the_picture_says_in_words_what_it_shows(http: httpx.Client) -> None:
    assert (
        "The rollout of shop/web: 1.5.0 (v2) is candidate with 2 of 2 pods available, preview goes to it, 2 of 4 gates "
        "open; 1.4.0 (v1) is active with 2 of 2 pods available, live traffic goes to it"
    ) in text_of(http.get("/apps/shop/web"))


def test_pods_that_cannot_start_say_why_and_what_to_do(http: httpx.Client) -> None:
    shown = text_of(http.get("/apps/shop/cart"))
    assert 'ImagePullBackOff: Back-off pulling image "registry.example/cart:2.0.0-bad"' in shown
    assert "if the image is wrong: gitops-bg set-image shop/cart CONTAINER=IMAGE" in shown


def test_a_rollback_stands_in_the_timeline_with_its_commit(http: httpx.Client) -> None:
    shown = text_of(http.get("/apps/shop/search"))
    assert re.search(r"rolled-back 1\.5\.0 \(v2\) → to 1\.4\.0 \(v1\) .* ago Ada Pusher [0-9a-f]{10} Revert", shown)


def test_an_analysis_shows_its_measurements(http: httpx.Client) -> None:
    answer = http.get("/apps/shop/payments")
    assert re.search(r"pre-promotion analysis (Running|Successful).* error-rate .* good, 0 bad of 60", text_of(answer))
    assert '<rect class="bar successful"' in answer.text


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/apps/shop/wbe", "This cluster runs no app shop/wbe. There is: shop/web"),
        ("/apps/shop/<script>", "This cluster runs no app shop/<script>. There is: shop/"),
        ("/apps/elsewhere/x", "This cluster runs no app elsewhere/x."),
        ("/nowhere", "There is no page /nowhere."),
        ("/static/../app.py", "There is no page /app.py."),
        ("/static/none.css", "There is no page /static/none.css."),
    ],
)
def test_what_is_not_there_says_what_there_is_instead(http: httpx.Client, path: str, said: str) -> None:
    answer = http.get(path)
    assert answer.status_code == 404
    assert said in text_of(answer)


def test_the_history_has_every_entry_and_each_a_page_of_its_own(http: httpx.Client, shop: Shop) -> None:
    answer = http.get("/apps/shop/search/history")
    assert re.findall(r'class="event">([^<]*)<', answer.text) == [
        *("rolled-back", "held", "promoted", "candidate", "deployed", "candidate")
    ]
    (merge,) = re.findall(r"promoted .*? ([0-9a-f]{10})", text_of(answer))
    shown = text_of(http.get(f"/apps/shop/search/history/{merge}"))
    assert "promoted: 1.4.0 (v1) → to 1.5.0 (v2)" in shown
    assert "spec.containers[web].image: registry.example/search:1.4.0 → registry.example/search:1.5.0" in shown
    assert http.get("/apps/shop/search/history/ffffffffff").status_code == 404
    assert http.get("/apps/shop/nothing/history").status_code == 404


def test_any_two_versions_are_compared(http: httpx.Client) -> None:
    empty = http.get("/apps/shop/search/compare")
    assert (empty.status_code, '<option value="2">' in empty.text) == (200, True)
    shown = text_of(http.get("/apps/shop/search/compare", params={"from": "2", "to": "1"}))
    assert "1.5.0 (v2) → to 1.4.0 (v1)" in shown
    assert "spec.containers[web].image: registry.example/search:1.5.0 → registry.example/search:1.4.0" in shown
    answer = http.get("/apps/shop/search/compare", params={"from": "1", "to": "7"})
    assert answer.status_code == 404
    assert "neither the record nor main's history has a template of version 7" in text_of(answer)


def test_pods_lead_to_their_logs_where_the_settings_say_where_they_are(http: httpx.Client, shop: Shop) -> None:
    assert "The logs: gitops-bg logs shop/catalog" in text_of(http.get("/apps/shop/catalog"))
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"
    logs = "links: {logs: 'https://logs.example.com/?ns={namespace}&v={version}&pod={pod}'}\n"
    shop.world.publish("Say where logs are", {"gitops-bg.yaml": head + logs})
    link = r'<a class="logs" href="https://logs\.example\.com/\?ns=shop&amp;v=2&amp;pod=catalog-[a-z0-9-]+">'
    eventually(lambda: re.search(link, http.get("/apps/shop/catalog").text), what="pods lead to their logs")
    shop.world.publish("Nowhere", {"gitops-bg.yaml": head})
    eventually(lambda: "The logs:" in text_of(http.get("/apps/shop/catalog")), what="the command stands there again")


def test_the_policies_say_what_they_hold_now(http: httpx.Client) -> None:
    shown = text_of(http.get("/policies"))
    assert "night-rest soak · for 5 apps" in shown
    assert re.search(r"Holds now .*shop/web night-rest: available for 2d, until .* left", shown)


def test_the_fleet_is_read_from_the_ledgers_of_all_clusters(shop: Shop) -> None:
    bare = shop.world.remote.bare
    shop.world.remote.run("update-ref", "refs/heads/gitops-bg/state/eu", f"refs/heads/{STATE_BRANCH}", cwd=bare)
    agent = shop.world.agent
    assert agent is not None
    with dashboard_server(agent, "127.0.0.1", 0) as server:  # another one may have fetched them less than a minute ago

        def ask() -> httpx.Response:
            return httpx.get(f"{server.url}/fleet", trust_env=False, timeout=20)

        eventually(lambda: ask().status_code == 200, what="the ledgers are fetched")
        shown = text_of(ask())
    wrote = "wrote (just now|.* ago)"
    assert re.search(rf"2 clusters of this repository, .* App eu {wrote} test {wrote} ", shown)
    assert re.search(r"shop/ catalog 1\.5\.0 \(v2\) .* 1\.5\.0 \(v2\)", shown)
    assert "shop/ search 1.4.0 (v1) on hold" in shown


def test_a_wall_shows_what_needs_people_and_what_moves(http: httpx.Client) -> None:
    shown = text_of(http.get("/wall"))
    counts = re.match(r"What needs people, and what moves (\d) for people (\d) on the way (\d) well", shown)
    assert counts is not None, shown
    people, moving, well = map(int, counts.groups())
    assert people + moving + well == 5
    assert people >= 3, "payments wait for somebody as well, once they were measured"
    assert well >= 1


def test_somebody_sees_who_they_are_and_what_they_may(http: httpx.Client) -> None:
    shown = text_of(http.get("/me"))
    assert "known by loopback" in shown
    assert "viewer everywhere operator everywhere" in shown


def test_a_stream_begins_with_the_page_as_it_is(http: httpx.Client) -> None:
    with http.stream("GET", "/events", params={"at": "/apps/shop/web?x=1"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = []
        for line in answer.iter_lines():
            if not line:
                break
            lines.append(line)
    assert all(line.startswith("data: ") for line in lines)
    assert any("<h1>web</h1>" in line for line in lines)
    assert not any("<html" in line or "<header" in line for line in lines)


@pytest.mark.parametrize(
    "at", ["/nowhere", "", "/events?at=/", "/static/style.css", "https://elsewhere.example/", "//["]
)
def test_there_is_no_stream_of_what_is_no_page(http: httpx.Client, at: str) -> None:
    assert http.get("/events", params={"at": at}).status_code == 404


def test_a_change_shows_at_the_next_look(http: httpx.Client, shop: Shop) -> None:
    shop.well.push_image("1.6.0", "Sell more")
    eventually(lambda: "1.6.0 (v" in text_of(http.get("/", params={"q": "catalog"})), what="the candidate is shown")
    eventually(lambda: "Sell more" in text_of(http.get("/apps/shop/catalog")), what="its page says who pushed it")
    shop.well.revert(shop.world.remote.tip)
    eventually(lambda: "1.6.0" not in text_of(http.get("/", params={"q": "catalog"})), what="it is gone")


def test_the_pages_load_nothing_but_our_own_files(http: httpx.Client) -> None:
    answer = http.get("/")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', answer.text):
        assert http.get(address).status_code == 200


def test_health_and_metrics_are_not_on_the_port_of_the_dashboard(http: httpx.Client) -> None:
    assert {http.get(path).status_code for path in ("/healthz", "/metrics", "/webhook")} == {404}


@pytest.mark.parametrize("path", ["apps/%2e%2e/x", "apps/shop/%2e%2e", "apps/a%00b/x", "groups/%2e%2e/x"])
def test_a_name_that_nothing_can_have_is_asked_of_nobody(path: str, http: httpx.Client, shop: Shop) -> None:
    """Git takes `..` for a file outside of the mirror, and the mirror was taken for broken."""
    for address in (f"/{path}", f"/{path}/history", f"/api/v1/{path}", f"/api/v1/{path}/history"):
        assert http.get(address).status_code == 404, address
    assert shop.world.agent is not None
    assert not shop.world.agent.catalog.repository.lock.suspect

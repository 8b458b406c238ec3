"""Every verb refuses an APP that is no name of Kubernetes, before it asks any server, and says what would be right."""

import inspect

import pytest

from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.values import app_name, namespace_name
from gitops_bg.cli.registry import VERBS
from tests.integration.cli.conftest import Cli

WRONG = {
    "": "the name of the app is missing",
    "shop/": "the name of the app is missing; write NAME or NAMESPACE/NAME, as in shop/web",
    "/web": "the name of the namespace is missing",
    "/": "is missing",
    "a/b/c": "it has more than one slash",
    "shop//web": "more than one slash",
    "Shop/Web": "'Shop' is no name of a namespace: lower-case letters, digits and '-'",
    "shop/Web": "'Web' is no name of an app: lower-case letters, digits and '-', first and last no '-', at most 63",
    "my_app": "; my-app?",
    "-web": "; web?",
    "web-": "; web?",
    "shop/" + "a" * 64: "at most 63",
    "web.shop": "; web-shop?",
    "shop/web?x=1": "is no name of an app",
    "shop/..": "is no name of an app",
    "wéb": "; w-b?",
    "shop/web\n": "is no name of an app",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_name_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        app_name(text)
    assert WRONG[text] in str(refused.value)


def test_names_are_taken_as_kubernetes_takes_them() -> None:
    assert app_name("web-2") == ("", "web-2")
    assert app_name(f"{'n' * 63}/{'a' * 63}") == ("n" * 63, "a" * 63)
    assert namespace_name("") == ""
    with pytest.raises(UsageError, match="no name of a namespace"):
        namespace_name("Shop")


def takes_apps() -> list[list[str]]:
    """Every verb with an APP, and what else it needs to be read at all."""
    more = {"set-image": ["web=web:1"]}
    found = []
    for verb in (verb for verbs in VERBS.values() for verb in verbs):
        if {"app", "apps"} & inspect.signature(verb.load()).parameters.keys():
            found.append([verb.name, "shop/", *more.get(verb.name, [])])
    return [
        *found,
        *(["gate", verb, "shop/", *rest] for verb, rest in (("open", ["x"]), ("close", ["x"]), ("status", []))),
    ]


@pytest.mark.parametrize("arguments", takes_apps(), ids=" ".join)
def test_every_verb_refuses_it_before_it_asks_anybody(cli: Cli, arguments: list[str]) -> None:
    shown = cli(*arguments, code=2)
    assert "'shop/' names no app: the name of the app is missing" in shown


def test_a_namespace_that_is_none_is_refused(cli: Cli) -> None:
    assert "'Shop' is no name of a namespace" in cli("get", "-n", "Shop", code=2)

"""Reading ``policies/``: the content, and the problems with it, each with its place and the remedy."""

import textwrap
from datetime import timedelta

import pytest

from gitops_bg.core.model.policy_rules import Mode, NoAnswer, Soak
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.expressions import compile_pattern
from gitops_bg.spec.policies.expressions import apps_named_in, compile_expression
from gitops_bg.spec.policies.load import PolicyFolder, load_policies

HEAD = "apiVersion: gitops-bg.dev/v1alpha1\nkind: PromotionPolicy\nmetadata: {name: calm}\nspec:\n"
PEOPLE = b"""apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
- {name: ada, emails: [Ada@example.com], groups: [incident]}
- {name: bob, groups: [leads]}
"""


def folder(rules: str, more: str = "") -> PolicyFolder:
    text = HEAD + textwrap.indent(more, "  ") + "  rules:\n" + textwrap.indent(rules + "\n", "  ")
    return load_policies({"policies/calm.yaml": text.encode(), "policies/people.yaml": PEOPLE})


WRONG = {
    "- window: {}": "there is no such field (did you mean windows?)",
    "- {soak: {for: 1h}, images: {requireDigest: true}}": "a rule is exactly one of windows, soak",
    "- windows: {}": "has neither allow nor deny (add one of them)",
    "- windows: {deny: [{reason: why}]}": "must be one kind of window (write {days, from, to}, or {cron, duration}",
    '- windows: {deny: [{days: [fri], from: "14:00", to: "14:00"}]}': "14:00 is when it begins",
    '- windows: {deny: [{days: [fri], from: "25:00"}]}': 'must be a time of the day from "00:00" to "24:00"',
    "- windows: {deny: [{days: [friday]}]}": "'friday' is not allowed (write mon, tue, wed",
    '- windows: {deny: [{start: "2026-12-20", end: "2026-12-19"}]}': "2026-12-19 is not after 2026-12-20",
    '- windows: {deny: [{start: "2026-13-01"}]}': "must be a day or a local time, quoted",
    "- windows: {deny: [{start: 2026-12-20}]}": 'quote it: "2026-12-20"',
    '- windows: {deny: [{end: "2026-12-20"}]}': "is required beside end",
    '- windows: {deny: [{cron: "0 18 * * fri"}]}': "is required beside the other",
    '- windows: {deny: [{cron: "0 18 * fri", duration: 1h}]}': "has 4 fields",
    '- windows: {deny: [{cron: "0 0 31 feb *", duration: 1h}]}': "names a day that none of its months has",
    '- windows: {deny: [{cron: "61 * * * *", duration: 1h}]}': "'61' is no number from 0 to 59",
    '- windows: {deny: [{cron: "0 0 1 * *", duration: 40d}]}': "40d is not from 1s to 31d",
    "- windows: {timeZone: Europe/Berln, deny: [{days: [fri]}]}": "is no time zone; did you mean Europe/Berlin?",
    '- windows: {deny: [{start: "0001-01-01"}]}': "must lie between the years 1970 and 9000",
    '- windows: {allow: [{start: "2026-01-01", end: "9999-12-31T23:59"}]}': "leave end out for a window without an end",
    "- windows: {timeZone: /etc/passwd, deny: [{days: [fri]}]}": "is no time zone",
    "- soak: {for: soon}": "must be a duration such as 30s, 5m or 1h30m",
    "- images: {}": "asks nothing (add allow, deny, requireDigest or sameAs)",
    "- message: {matches: '(a'}": "'(a' is no regular expression",
    "- message: {trailer: 'a b'}": "is not allowed",
    "- concurrency: {max: 0}": "0 is too small",
    "- concurrency: {max: 1, scope: team}": "'team' is not allowed",
    "- after: {app: shop/Web}": "must name an app",
    "- after: {app: shop/web, environment: prod}": "there is no such field",
    "- after: {app: shop/web, from: [staging]}": "names an app and environments",
    "- after: {proven: 2h}": "names neither an app nor environments",
    "- after: {from: [staging], forAtLeast: 2h}": "forAtLeast and sameVersion are about another app",
    "- after: {app: shop/web, proven: 2h}": "proven and provenIn are about environments",
    "- after: {from: [Staging]}": "is not allowed",
    "- cel: {expression: 'a.?b'}": "unsupported syntax '.?'",
    "- cel: {expression: 'branch == 1'}": "branch is unknown; known here: app, from, to",
    "- cel: {expression: 'lower(to.label) == 1'}": "there is no function lower",
    "- cel: {expression: 'to.images.all(a, to.images.all(b, to.images.all(c, a == b && b == c)))'}": (
        "3 loops stand in one another; 2 are the most"
    ),
    "- approvals: {count: 2, by: [group:lead]}": "nobody is in the group lead (add it to somebody's groups",
    "- approvals: {by: [eve]}": "eve is not in policies/people.yaml",
}


@pytest.mark.parametrize("rule", WRONG)
def test_what_is_wrong_is_said_with_its_place(rule: str) -> None:
    found = folder(rule)
    assert not found.written
    (problem,) = found.problems
    assert WRONG[rule] in str(problem)
    assert problem.file == "policies/calm.yaml"
    assert problem.line == 6 or rule.startswith("- window:")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('match: {namespaces: ["pay-[*"]}\n', "names with *, ? and [abc]"),
        ("match: {environment: [prod]}\n", "there is no such field"),
        ("mode: audit\n", "'audit' is not allowed (write enforce or warn)"),
        ("override: {by: [group:leads]}\n", "none of them has an e-mail address, so nobody can override it"),
        ("override: {by: [group:incident], proof: forge}\n", "'forge' is not allowed (write merge or signed)"),
        (
            "override: {by: [group:incident], proof: signed}\n",
            "none of them has a name in the file of signers, so nobody can sign",
        ),
    ],
)
def test_what_is_wrong_beside_the_rules(more: str, said: str) -> None:
    (problem,) = folder("- soak: {for: 1h}", more).problems
    assert said in str(problem)
    assert problem.line == 5


def test_a_good_policy_is_data_for_the_core() -> None:
    found = folder("- soak: {for: 1h30m}", "mode: warn\noverride: {by: [group:incident]}\n")
    assert not found.problems
    (policy,) = (each.policy for each in found.written)
    assert (policy.name, policy.mode, policy.rules) == ("calm", Mode.WARN, (Soak(timedelta(minutes=90)),))
    assert policy.override is not None
    assert policy.override.emails == {"ada@example.com"}


def test_a_file_holds_several_and_is_used_as_a_whole_or_not_at_all() -> None:
    good, bad = HEAD + "  rules: [{soak: {for: 1h}}]\n", HEAD + "  rules: [{soak: {}}]\n"
    found = load_policies({"policies/a.yaml": f"{good}---\n{bad.replace('calm', 'other')}".encode()})
    assert found.files["policies/a.yaml"].policies == ()
    assert found.files["policies/a.yaml"].names == ("calm", "other")


def test_only_files_right_in_the_folder_count() -> None:
    content = (HEAD + "  rules: [{soak: {for: 1h}}]\n").encode()
    paths = ["policies/a.yaml", "policies/library/b.yaml", "policies/a.test.yaml", "policies/README.md", "x/a.yaml"]
    assert list(load_policies(dict.fromkeys(paths, content)).files) == ["policies/a.yaml"]


def test_the_apps_that_an_expression_names() -> None:
    text = "apps['shop/api'].healthy && 'pay/db' in apps && to.images[0] == 'shop/web'"
    assert apps_named_in(text) == {AppKey("shop", "api"), AppKey("pay", "db")}


def test_an_expression_that_has_no_answer_says_so() -> None:
    with pytest.raises(NoAnswer, match="is not there"):
        compile_expression("apps['shop/api'].healthy")({"apps": {}})


def test_a_pattern_takes_linear_time() -> None:
    """The one that takes for ever elsewhere (catastrophic backtracking)."""
    assert not compile_pattern("^(a+)+$")("a" * 100_000 + "b")
    assert compile_pattern("[A-Z]+-[0-9]+")("fix\n\nsee INC-4711")

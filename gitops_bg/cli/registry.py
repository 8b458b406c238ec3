"""The list of verbs, in the order of `--help`, each with its first sentences. Imports none of them.

The sentences are those of each function's docstring (a test compares them).
"""

from collections.abc import Iterator
from typing import Any

from gitops_bg.cli.lazy_commands import LazyCommand, Verb, group_of

START, LOOK, DECIDE = "Start", "Look", "Decide"

VERBS = {
    START: (
        Verb("init", "files.init", "Copy the template of a configuration repository into DIR."),
        Verb(
            "import",
            "files.import_:import_",
            "Import Rollouts, Canaries, Deployments, and the workloads of bgd-controller and OAM as app folders.",
        ),
        Verb(
            "render",
            "files.render",
            "Render the targets of apps from spec.render: by helm, or by kustomize, as they are on the PATH.",
        ),
        Verb(
            "check",
            "inspect.check",
            "Check every file of a repository; exit 1 if any has an error. Notes say what has no effect.",
        ),
        Verb(
            "adopt",
            "files.adopt",
            "Write the folder of a live Deployment, with all that belongs to it; say what the agent will do after the "
            "push.",
        ),
        Verb(
            "schema",
            "files.init:schema",
            "Print the JSON Schema of a kind of file, for editors: they complete and check while you write.",
        ),
        Verb(
            "install",
            "install",
            "Install the agent into a cluster, or upgrade it: the kinds, its rights, its settings, and itself.",
        ),
        Verb(
            "uninstall",
            "install:uninstall",
            "Remove the agent and its rights. ReplicaSets and Services stay and serve; records and settings stay.",
        ),
        Verb(
            "agent",
            "agent",
            "Run the agent: follow the repository, bring the cluster to it, until SIGTERM or SIGINT.",
        ),
        Verb(
            "demo",
            "demo",
            "Show it all: push, promote, roll back; no cluster, no network. Exit 1 if anything is not as expected.",
        ),
    ),
    LOOK: (
        Verb(
            "get",
            "inspect.get",
            "List apps and groups, or show one as a tree: its versions, pods and measurements, and what it waits for.",
            "inspect.get:of_group",
        ),
        Verb("tree", "inspect.get:tree", "Show one app as a tree: the same as `get APP`.", "inspect.get:tree_of_group"),
        Verb(
            "status",
            "inspect.status",
            "Show the phases of an app, a line each with its reason, until it has settled. The exit code says how.",
        ),
        Verb(
            "explain",
            "inspect.explain",
            "Explain what an app waits for: each gate, open or shut, why, until when, and what to do.",
            "inspect.explain:of_group",
        ),
        Verb(
            "plan",
            "inspect.plan",
            "Show what would be done now, changing nothing: neither the cluster nor Git.",
            "inspect.plan:of_group",
        ),
        Verb(
            "diff",
            "inspect.diff",
            "Compare what the target asks for, or another version, with what is live; exit 1 where they differ.",
            "inspect.diff:of_group",
        ),
        Verb(
            "history",
            "inspect.history",
            "Show the history of an app: what, when, from which version to which, by whom, why.",
            "inspect.history:of_group",
        ),
        Verb(
            "fleet",
            "inspect.fleet",
            "Show what serves in every cluster of the repository, and what waits there, from their ledgers in Git.",
        ),
        Verb(
            "environments",
            "inspect.environments",
            "Show which release of each app is in which environment, and what the next one waits for.",
        ),
        Verb(
            "where",
            "inspect.environments",
            "Show in which environments a commit, an image or a release is, and what it waits for in the others.",
        ),
        Verb(
            "dashboard",
            "dashboard",
            "Show all apps in a browser, through your kubeconfig. Every user of this machine who reaches the port acts "
            "as you.",
        ),
        Verb(
            "logs",
            "inspect.running",
            "Print the last lines of the pods of a version: of the candidate, or of what serves where there is none.",
        ),
        Verb(
            "open",
            "inspect.running:open_app",
            "Open the preview of an app in a browser, its page of the dashboard, or its pull request; print the "
            "address where there is no browser.",
        ),
        Verb(
            "version",
            "inspect.running",
            "Show the release of this command, and the images of the agents that the cluster has.",
        ),
    ),
    DECIDE: (
        Verb(
            "set-image",
            "operate.target",
            "Change the image of containers in the target; comments and formatting stay. What `check` refuses is not "
            "pushed.",
        ),
        Verb(
            "promote",
            "operate.promote",
            "Promote the candidate: commit its checked snapshot as primary.yaml. Exit 3 where main takes only pull "
            "requests.",
            "operate.group_change",
        ),
        Verb(
            "rollback",
            "operate.rollback",
            "Roll back: commit the older primary.yaml; traffic follows at once. Exit 3 where main takes only pull "
            "requests.",
            "operate.group_change",
        ),
        Verb(
            "undo",
            "operate.target",
            "Change the target back to an older version, as a commit. It goes through every gate; `rollback` does not.",
        ),
        Verb(
            "abort",
            "operate.abort",
            "Abort rollouts: put the candidate on hold, and take traffic back from a version that is not proven yet.",
        ),
        Verb(
            "retry",
            "operate.retry",
            "Try the target again: start a new rollout with fresh checks, whatever held or paused the last one.",
            "operate.group_change",
        ),
        Verb(
            "restart",
            "operate.retry",
            "Restart the pods of apps, a few at a time: by eviction, as maxUnavailable and PodDisruptionBudgets allow.",
        ),
        Verb(
            "resume",
            "operate.suspend",
            "Go on: remove the suspension, and let the target be promoted again if it is on hold.",
            "operate.group_change",
        ),
        Verb(
            "hold",
            "operate.release",
            "Keep a release from coming into any further environment; where it serves, it stays. `--lift` lets it in "
            "again.",
        ),
        Verb(
            "enter",
            "operate.release",
            "Let a release into an environment now, as a hotfix: commit release.yaml there. Exit 3 where main takes "
            "only pull requests.",
        ),
        Verb(
            "suspend",
            "operate.suspend",
            "Suspend apps: no candidate, no promotion; live traffic stays, and rollbacks still work. `resume` ends it.",
            "operate.group_change",
        ),
        Verb(
            "pause",
            "operate.suspend:pause",
            "Suspend apps: the same as `suspend`, under Argo Rollouts' name. `resume` ends it.",
            "operate.group_change:suspend",
        ),
        Verb(
            "release",
            "operate.rollback",
            "Give live traffic back to the Deployment that an app was adopted from, as a commit. `git revert` adopts "
            "it anew.",
        ),
        Verb(
            "move",
            "files.move",
            "Give an app another name, with its Services as they are; say what the agent will do after the push.",
        ),
        Verb(
            "freeze",
            "operate.suspend",
            "Stop every promotion, of all apps or those of a namespace; rollbacks go on. `unfreeze` ends it.",
        ),
        Verb("unfreeze", "operate.suspend", "End a freeze: what was merged meanwhile goes on."),
        Verb(
            "accept-history",
            "operate.suspend",
            "Accept main as it is after somebody rewrote its history, so that it moves traffic again.",
        ),
        Verb(
            "reconcile",
            "operate.retry",
            "Have the agent look at Git and at this app now, instead of at its next poll.",
        ),
    ),
}

GATE_VERBS = (
    Verb(
        "open",
        "operate.gate:open_",
        "Open a manual gate. It stays open, also for later versions and across restarts, until somebody closes it.",
        "operate.gate:open_of_group",
    ),
    Verb(
        "close",
        "operate.gate",
        "Close a manual gate. What it has let through is not taken back; `gitops-bg abort` does that.",
        "operate.gate:close_of_group",
    ),
    Verb(
        "status",
        "operate.gate",
        "Show the manual gates of an app, or a release group: open or closed, by whom, since when and why.",
        "operate.gate:status_of_group",
    ),
)

POLICY_VERBS = (
    Verb(
        "test",
        "inspect.policies:run_tests",
        "Run the test cases of a folder of policies (`*.test.yaml`); exit 1 where one is not as expected.",
    ),
    Verb(
        "replay",
        "inspect.policies",
        "Judge every promotion of the ledger by policies, as of its own time: allowed, would have waited, refused.",
    ),
)

GROUP_VERBS = (
    Verb(
        "get",
        "inspect.get:of_group",
        "List groups, or show one as a tree: the same as `get`, of groups alone.",
    ),
    Verb(
        "tree",
        "inspect.get:tree_of_group",
        "Show a group as a tree: its versions, their services with ReplicaSets and pods, its Services, routes and "
        "gates.",
    ),
    Verb(
        "explain",
        "inspect.explain:of_group",
        "Explain what a group waits for: its versions, their services, each gate, what comes next, and what to do.",
    ),
    Verb(
        "plan",
        "inspect.plan:of_group",
        "Show what would be done to a group now, changing nothing: what `plan` shows, also as if main asked for "
        "VERSION.",
    ),
    Verb(
        "diff",
        "inspect.diff:of_group",
        "Compare what a group serves by main, or by another version, with what is live: what its services run, its "
        "routes and Services; exit 1 where they differ.",
    ),
    Verb(
        "history",
        "inspect.history:of_group",
        "Show the history of a group: what `history` shows, also of one whose folder left main.",
    ),
    Verb(
        "new",
        "files.group_new",
        "Write the folder of a new version of a group into a work tree, as a copy of the one that `active` names.",
    ),
    Verb(
        "promote",
        "operate.group_change",
        "Promote a version of a group: one commit that names it `active`, for all its services together.",
    ),
    Verb(
        "rollback",
        "operate.group_change",
        "Roll a group back: one commit that names the version before `active` again.",
    ),
    Verb(
        "delete",
        "operate.group_change",
        "Delete a version of a group that is not active: one commit that removes its folder.",
    ),
    Verb(
        "abort",
        "operate.abort:of_group",
        "Abort what is on its way in a group, and take requests back from a version that is not proven yet.",
    ),
    Verb(
        "retry",
        "operate.group_change",
        "Try the version that main names again, with fresh checks, whatever held or paused it; as of an app.",
    ),
    Verb(
        "suspend",
        "operate.group_change",
        "Suspend a group: nothing of it is promoted; requests stay, and rollbacks still work. `resume` ends it.",
    ),
    Verb(
        "resume",
        "operate.group_change",
        "Go on: remove the suspension of a group, and let what main names be tried again if it is on hold.",
    ),
    Verb("open-gate", "operate.gate:open_of_group", "Open a manual gate of a group."),
    Verb("close-gate", "operate.gate:close_of_group", "Close a manual gate of a group."),
    Verb("gates", "operate.gate:status_of_group", "Show the manual gates of a group."),
)

GROUPS = (
    (LOOK, "policies", "Try promotion policies: on cases, and on the past.", POLICY_VERBS),
    (DECIDE, "gate", "Open, close or show the manual gates of an app, or a release group.", GATE_VERBS),
    (DECIDE, "group", "Release groups: several services that are promoted and rolled back together.", GROUP_VERBS),
)


def commands() -> Iterator[Any]:
    """Yield every command, none of them imported."""
    for panel, verbs in VERBS.items():
        yield from (LazyCommand(verb, panel) for verb in verbs)
    for panel, name, says, verbs in GROUPS:
        yield group_of(name, says, verbs, panel)

"""Stories: how a promise was broken, in plain words, and as files that a test tells again (`stories/*.json`)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.exploration.search import Story
from tests.exploration.seed import Event

FOLDER = Path(__file__).parent / "stories"

_WORDS = {
    "settle": "everybody gets on with it until nothing changes",
    "fetch": "agent {0} reads the remote",
    "act": "agent {0} makes a pass",
    "put": "agent {0} pushes what it decided",
    "die": "agent {0} dies in a pass after {1} writes, and a new process begins",
    "halt": "agent {0} stands still in a pass after {1} writes (SIGSTOP)",
    "thaw": "agent {0} goes on where it stood still",
    "lag": "agent {0} makes a pass with a cache that lags behind",
    "accept": "somebody accepts the new history",
    "push": "somebody pushes target {0}",
    "merge": "somebody merges the promotion branch",
    "promote": "somebody commits the target into primary.yaml",
    "revert_primary": "somebody reverts the last change of primary.yaml",
    "revert_target": "somebody reverts the last push of the target",
    "retry": "somebody asks for a retry of the target",
    "suspend": "somebody suspends it, or ends that",
    "break_target": "somebody pushes a target.yaml that is no YAML",
    "remove_primary": "somebody deletes primary.yaml",
    "rewind": "somebody force-pushes main without its last {0} commits",
    "ask": "an operator asks for {0}",
    "offline": "the CLI makes a pass without Git",
    "reach": "the Git remote goes away, or comes back",
    "protect": "main refuses the agent's pushes, or takes them again",
    "later": "time passes until the engine wants to be woken",
    "lose": "somebody deletes the ReplicaSet of {0}",
    "rebuild": "the record is lost",
    "edit": "somebody edits the record, which counts as lost",
    "name": "somebody merges active: {0}",
    "add": "somebody pushes the folder of {0}",
    "fix": "somebody changes the folder of {0}",
    "remove": "somebody deletes the folder of {0}",
    "break_group": "somebody pushes a group.yaml that is no YAML, or mends it",
    "gateway": "from now on the Gateway {0}",
    "catch_up": "a Gateway that is late takes what is written",
    "come_up": "the pods of all members that run come up",
    "follow": "somebody points the Service {0} at {1}",
    "lose_record": "somebody deletes the ReleaseGroup, and so the record",
    "lose_cluster": "the whole cluster is lost",
    "claim": "somebody nobody knows makes an HTTPRoute for {0}, or deletes it",
    "app": "the folder of the app whose requests the group is to have leaves main, or comes back",
    "app_acts": "the app writes its HTTPRoute",
    "delete_routes": "somebody deletes the HTTPRoutes of the group",
    "api": "the Gateway API leaves the cluster, or comes back",
    "policy": "from now on a policy says of promotions: {0}",
    "going": "somebody deletes the BlueGreenDeployment, which is not gone yet",
    "release": "somebody asks for the release of the app, or takes that back",
    "scale_former": "somebody scales the Deployment that it was adopted from to {0}",
    "delete_former": "somebody deletes that Deployment, or applies it again without pods",
}


def words(event: Event) -> str:
    """An event in plain English."""
    name, *rest = event
    match name, rest:
        case "put", [who, False]:
            return f"agent {who} pushes what it decided, and dies before it hears the answer"
        case "act", [who, "", found]:
            return f"agent {who} makes a pass, and hooks say {found}"
        case "act", [who, verdict]:
            return f"agent {who} makes a pass, and the analysis says {verdict}"
        case "former_pods", [up]:
            return f"the pods of the Deployment {'become ready' if up else 'fail'}"
        case "revert_target", [True]:
            return "somebody reverts the last push of the target with an old author date"
        case "pods", [tag, up]:
            return f"the pods of {tag} {'become ready' if up else 'fail'}"
        case "point", [role, None]:
            return f"somebody deletes the {role} Service"
        case "point", [role, ""]:
            return f"somebody wipes the selector of the {role} Service"
        case "point", [role, tag]:
            return f"somebody points the {role} Service to {tag}"
        case "rebuild", [keep]:
            return "the record is lost; pods and Services stay" if keep else "the whole cluster is lost"
    return _WORDS[str(name)].format(*rest)


class Told(NamedTuple):
    """A story from a file. ``unmended`` says why its promise is still broken; empty: it holds."""

    file: str
    story: Story
    unmended: str


def text(story: Story) -> str:
    """For people."""
    lines = [f"BROKEN: {story.promise}", f"  it begins with: {story.seed}"]
    return "\n".join([*lines, *(f"  {number}. {words(event)}" for number, event in enumerate(story.events, 1))])


def write(story: Story, unmended: str = "") -> Path:
    """As a file that `test_stories` tells again from now on."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"{story.seed} {story.promise}".lower()).strip("-")[:70]
    path = FOLDER / f"{slug}.json"
    told = {
        "seed": story.seed,
        "events": [list(event) for event in story.events],
        "words": [words(event) for event in story.events],
        "promise": story.promise,
        **({"unmended": unmended} if unmended else {}),
    }
    FOLDER.mkdir(exist_ok=True)
    path.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    return path


def stories() -> Iterator[Told]:
    """All stories that were written."""
    for path in sorted(FOLDER.glob("*.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        events = tuple(tuple(event) for event in told["events"])
        yield Told(path.stem, Story(told["seed"], events, told["promise"]), told.get("unmended", ""))

"""The desired text of a pull request and its commit status, made from an `Offer` of an app or of a group's branch.

Texts of others are escaped for the Markdown of three forges: they cannot break a table, mention or link.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import image_changes, images_in, read_json, tag_of
from gitops_bg.core.foreign_text import printable
from gitops_bg.core.groups.forecast import Changed
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.version import AppOrGroup, version_name
from gitops_bg.core.names import page_url
from gitops_bg.forge.known import Marker, hashed, without_marker
from gitops_bg.forge.offer import (
    AnyOffer,
    Content,
    EntryOffer,
    GroupOffer,
    Offer,
    PullSettings,
    ReleaseSide,
    Side,
    context_of,
)
from gitops_bg.forge.port import CheckState, CheckStatus, ForgeLimits, Pull, PullRequestDraft
from gitops_bg.spec.manifests.differences import differences

LONGEST_TITLE = 200
GOES_BACK = "it goes back"
IS_THERE = "traffic is there"
_LONGEST = 200
_PLAIN = re.compile(r"[^\W_]|[ .,/=+]")
_TICKS = re.compile(r"`+")


def code(text: str, longest: int = _LONGEST) -> str:
    """Return ``text`` literally, on one line, cut to ``longest`` characters; fit for a cell of a table.

    >>> code("a|b @ada"), code("")
    ('<code>a&#124;b &#64;ada</code>', '–')
    """
    shown = cut(printable(text.strip()), longest)
    return f"<code>{''.join(map(_inert, shown))}</code>" if shown else "–"


def plain(text: str, longest: int = _LONGEST) -> str:
    """Return ``text`` for places without Markdown: a title, the description of a status."""
    return cut(printable(" ".join(text.split())), longest)


def cut(text: str, longest: int) -> str:
    """Return ``text`` cut to at most this many characters; an ellipsis marks a cut.

    >>> cut("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= longest else f"{text[: max(0, longest - 1)]}…"


def block(lines: list[str], language: str = "") -> str:
    """Return lines in a code block, literally: its fence is longer than any in them.

    >>> print(block(["a ```` b"]))
    `````
    a ```` b
    `````
    """
    shown = "\n".join(map(printable, lines))
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
    return f"{fence}{language}\n{shown}\n{fence}"


def within(text: str, longest: int) -> str:
    """Cut the text at the end of a line.

    >>> within("one" + chr(10) + "two", 5)
    'one'
    """
    return text if len(text) <= longest else text[:longest].rpartition("\n")[0]


def gate_rows(gates: Iterable[GateResult]) -> Iterator[str]:
    """Yield the table of gates; nothing without any."""
    rows = [*map(_gate_row, gates)]
    yield from ("| Gate | | Why | Until |", "|---|---|---|---|", *rows) if rows else ()


def _gate_row(gate: GateResult) -> str:
    until = f"{gate.until:%Y-%m-%d %H:%M} UTC" if gate.until and not gate.open else ""
    return f"| {code(gate.kind)} | {'open' if gate.open else '**shut**'} | {code(gate.reason)} | {until} |"


def shut_gates(gates: Iterable[GateResult]) -> str:
    """Say which gates are shut, in one line; empty where none is."""
    return "; ".join(map(_shortly, (gate for gate in gates if not gate.open)))


def _shortly(gate: GateResult) -> str:
    until = f" until {gate.until:%Y-%m-%d %H:%M} UTC" if gate.until else ""
    return f"{gate.kind}: {gate.reason}{until}"


def _inert(sign: str) -> str:
    return sign if _PLAIN.match(sign) else f"&#{ord(sign)};"


@dataclass(frozen=True, slots=True)
class Texts:
    """What a pull request says, and the status of its head."""

    title: str
    body: str
    state: CheckState
    description: str


def pull_title(who: AppOrGroup, change: str, cluster: str, *, back: str = "") -> str:
    """Return app or group, change and cluster: ``shop/web: 1.4.0 → 1.5.0 [prod-eu]``; only the change is cut."""
    where = f" [{plain(cluster)}]"
    room = LONGEST_TITLE - len(where) - len(str(who)) - len(back) - 2
    return f"{who}: {back}{cut(plain(change), room)}{where}"


def verdict(refused: str, back: str, gates: Iterable[GateResult]) -> tuple[CheckState, str]:
    """Return the status for branch protection, and why: failure if it must not be merged, pending while a gate is shut.
    ``back`` says that nothing is waited for: `GOES_BACK` or `IS_THERE`; empty where it goes forward.
    """
    if refused:
        return CheckState.FAILURE, refused
    shut = "" if back else shut_gates(gates)
    return (CheckState.PENDING, shut) if shut else (CheckState.SUCCESS, f"{back or 'every gate is open'}: merge this")


# --- of a group's branch: which services move, and who answers which request then ---

MOST_ROWS = 50
"""How many rows of a table are shown."""


def group_texts(offer: GroupOffer, longest: int) -> Texts:
    """Return the texts; the body is no longer than so many characters."""
    asks, body = offer.asks, "\n\n".join(filter(None, _parts(offer)))
    back = IS_THERE if asks.is_back else GOES_BACK
    said = verdict(asks.refused, back if asks.goes_back else "", asks.gates)
    return Texts(pull_title(offer.group, asks.change, offer.cluster), within(body, longest), *said)


def _parts(offer: GroupOffer) -> Iterator[str]:
    """Yield the paragraphs; what is cut off where there are too many is the end."""
    asks, ahead = offer.asks, offer.asks.forecast
    yield _says(offer)
    yield f"> **Do not merge:** {code(asks.refused)}" if asks.refused else ""
    yield "\n".join(_changes_of_group("Service", ahead.followers))
    yield "\n".join(gate_rows(asks.gates))
    yield "Analyses and hooks of the group begin after the merge." if asks.later else ""
    requests = [Changed(str(each.request), each.before, each.after) for each in ahead.answers]
    yield "\n".join(_changes_of_group("Request", requests))
    same = ahead.same_answers
    yield f"{same} {'request is' if same == 1 else 'requests are'} answered as now." if requests and same else ""
    yield "\n".join(_changes_of_group("Version", ahead.stages))
    yield _way_back_of_group(offer)


def _says(offer: GroupOffer) -> str:
    asks, where = offer.asks, f"**{offer.group}** on {code(offer.cluster)}"
    if not asks.version:
        return f"Nobody can tell what merging this does to {where}."
    if asks.is_back:
        said = f"**{asks.version} serves already**: requests of {where} went back to it"
        return f"{said}, and main is to say so. Merge this."
    if asks.goes_back:
        return f"Merging this takes {where} **back to {asks.version}**: all services, as soon as its pods answer."
    if asks.version != asks.live:
        moves = f"requests move from {asks.live} to it, for all services at once, as soon as every gate is open"
        return f"Merging this promotes **{asks.version}** of {where}: {moves}."
    gone = f"deletes **{', '.join(asks.deleted)}** of {where}" if asks.deleted else f"changes what main says of {where}"
    return f"Merging this {gone}; {asks.live} serves on."


def _changes_of_group(title: str, rows: Iterable[Changed]) -> Iterator[str]:
    every = list(rows)
    if every:
        yield f"| {title} | Now | Then |"
        yield "|---|---|---|"
    for each in every[:MOST_ROWS]:
        yield f"| {code(each.name)} | {code(each.before)} | {code(each.after)} |"
    if len(every) > MOST_ROWS:
        yield f"| … and {len(every) - MOST_ROWS} more | | |"


def _way_back_of_group(offer: GroupOffer) -> str:
    asks = offer.asks
    no = "To say no: close this. It is not opened again as long as the branch asks for the same."
    if not asks.promotes:
        return no
    rollback = f"`gitops-bg rollback {offer.group} --to {asks.live}`"
    return (
        f"To go back after the merge: `git revert` its commit and push, or {rollback}; {asks.live} stays warm, and "
        f"going back waits for no gate.\n\n{no}"
    )


# --- of the branch that asks for a release in an environment ---


def entry_texts(offer: EntryOffer, longest: int) -> Texts:
    """Return the texts; the body is no longer than so many characters, and its end is what is cut off."""
    body = "\n\n".join(filter(None, _parts_of_entry(offer)))
    change = f"let {offer.to.name} into {offer.entry.environment}"
    said = verdict(offer.refused, "", offer.gates)
    return Texts(pull_title(offer.entry.app, change, offer.cluster), within(body, longest), *said)


def _parts_of_entry(offer: EntryOffer) -> Iterator[str]:
    where = f"**{offer.entry.app}** in {code(offer.entry.environment)}"
    asked = f" {code(offer.asked_by)} asks for it." if offer.asked_by else ""
    yield (
        f"Merging this lets **{offer.to.name}** in, the release of {where} from then on. Live traffic follows as soon "
        f"as the gates there are open.{asked}"
    )
    if offer.skipped:
        yield f"> It **skips {code(', '.join(offer.skipped))}**, where nobody says that it is proven."
    yield f"> **Do not merge:** {code(offer.refused)}" if offer.refused else ""
    yield "\n".join(_releases(offer))
    yield "\n".join(gate_rows(offer.gates))
    yield "\n".join(_way_of_release(offer))
    yield _fold(list(offer.changes), "What changes in the release")
    same = offer.result and offer.result == offer.changes
    result = f"What changes in {plain(offer.entry.environment)}, with its overlay"
    yield f"{result}: the same." if same else _fold(list(offer.result), result)
    yield (
        "To say no: close this. The release stays out then, until this is reopened, or `gitops-bg enter` commits it; "
        "a newer one is offered anew."
    )


def _releases(offer: EntryOffer) -> Iterator[str]:
    sides = [*([offer.before] if offer.before else []), offer.to]
    yield f"| | {'Now | ' if offer.before else ''}Let in |"
    yield "|---" * (len(sides) + 1) + "|"
    before = offer.before.template if offer.before else ""
    rows = {
        "Release": [code(each.name) for each in sides],
        "Images": [_images(before, offer.to.template, each.template) for each in sides],
        **_source_rows(sides),
    }
    for title, cells in rows.items():
        yield f"| {title} | {' | '.join(cells)} |"


def _way_of_release(offer: EntryOffer) -> Iterator[str]:
    """Yield where the release serves by now, and since when."""
    if offer.where:
        yield "| Environment | Cluster | Serves | |"
        yield "|---|---|---|---|"
    for each in offer.where[:MOST_ROWS]:
        yield f"| {code(each.environment)} | {code(each.cluster)} | {code(each.serves)} | {code(each.said)} |"


# --- of any offer ---

_NOT_OFFERED = "content that gitops-bg does not offer"
_MOST_TAGS = 3
_LEFT_OUT = "… (cut: the forge takes no more; the branch's commit has all of it)"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The desired state of one pull request, and the status of its head."""

    draft: PullRequestDraft
    status: CheckStatus
    marker: Marker
    """The marker at the beginning of the body."""
    comment: str = ""
    """The desired comment; empty: none."""


def wanted(offer: AnyOffer, settings: PullSettings, limits: ForgeLimits) -> Wanted:
    """Return the desired state, within the forge's limits."""
    texts = _texts_of(offer, _room(limits))
    people = hashed(*settings.reviewers, "/", *settings.assignees)
    text_hash = hashed(texts.title, texts.body, *settings.labels)
    marker = Marker(str(offer.subject), offer.cluster, offer.id, text_hash, people)
    body = f"{marker.line()}\n{texts.body}"
    draft = PullRequestDraft(
        offer.branch, offer.base, texts.title, body, settings.labels, settings.reviewers, settings.assignees
    )
    app = offer.entry.app if isinstance(offer, EntryOffer) else offer.subject
    page = page_url(settings.dashboard, app) or (offer.address if isinstance(offer, Offer) else "")
    status = CheckStatus(offer.head, context_of(offer.cluster), texts.state, plain(texts.description), page)
    said = f"**{status.state}** on {code(offer.cluster)}: {code(status.description)}" if settings.comment else ""
    return Wanted(draft, replace(status, description=cut(status.description, limits.description)), marker, said)


def _texts_of(offer: AnyOffer, longest: int) -> Texts:
    match offer:
        case GroupOffer():
            return group_texts(offer, longest)
        case EntryOffer():
            return entry_texts(offer, longest)
        case Offer():
            return _texts(offer, longest)


def _texts(offer: Offer, longest: int) -> Texts:
    return Texts(title_of(offer), _body(offer, longest), *_verdict(offer))


def _room(limits: ForgeLimits) -> int:
    return limits.body - _MARKER_ROOM


def withdrawn(pull: Pull, marker: Marker, limits: ForgeLimits) -> PullRequestDraft:
    """Return the draft of a withdrawn pull request of ours: it says so, and closing it refuses no version."""
    said = "**Withdrawn:** gitops-bg offers this no more. A newer version, or what became of this one, took its place."
    text = f"{said}\n\n{without_marker(pull.body)}"
    line = replace(marker, offer="", text=hashed(text)).line()
    return PullRequestDraft(pull.branch, pull.base, pull.title, within(f"{line}\n{text}", limits.body))


# --- the title -------------------------------------------------------------------------------------------------------


def title_of(offer: Offer) -> str:
    """Return the title, which names the images that change."""
    is_other = offer.content is Content.OTHER
    change, back = (_NOT_OFFERED, "") if is_other else (_change(offer), "back to " if _is_back(offer) else "")
    return pull_title(offer.app, change, offer.cluster, back=back)


def _is_back(offer: Offer) -> bool:
    return offer.goes_back or offer.content is Content.WAY_BACK


def _change(offer: Offer) -> str:
    if _is_back(offer) or offer.before is None:
        return _name(offer.to)
    changes = image_changes(offer.before.template, offer.to.template)
    if not changes:
        return f"{_name(offer.before)} → {_name(offer.to)}"
    several = len(images_in(offer.to.template)) > 1
    spans = [f"{f'{each.container} ' if several else ''}{each.span}" for each in changes]
    more = len(spans) - _MOST_TAGS
    return ", ".join(spans[:_MOST_TAGS]) + (f" and {more} more" if more > 0 else "")


def _name(side: Side) -> str:
    return version_name(side.number, side.digest, tag_of(side.template))


def _template(side: Side) -> dict[str, Any]:
    read = read_json(side.template) if side.template else {}
    return read if isinstance(read, dict) else {}


# --- the body --------------------------------------------------------------------------------------------------------


def _body(offer: Offer, longest: int) -> str:
    """Return the whole body; if it is too long, cut the diff, then the gates; never the table."""
    budget = longest
    head, gates, tail = _head(offer), "\n".join(gate_rows(offer.gates)), _way_back(offer)
    lines = _diff(offer)
    whole = "\n\n".join(filter(None, [head, gates, _fold(lines), tail]))
    if len(whole) <= budget:
        return whole
    room = budget - len("\n\n".join(filter(None, [head, gates, _fold([_LEFT_OUT]), tail]))) - 2
    if room > 0:
        return "\n\n".join(filter(None, [head, gates, _fold([*_fitting(lines, room), _LEFT_OUT]), tail]))
    short = "\n\n".join([head, within(gates, max(0, budget - len(head) - len(tail) - 4)), tail])
    return short if len(short) <= budget else head


_MARKER_ROOM = 1_000
"""Characters reserved for the hidden line."""


def _fitting(lines: list[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def _head(offer: Offer) -> str:
    where = f"live traffic of **{offer.app}** on {code(offer.cluster)}"
    named = _name(offer.to)
    if offer.content is Content.OTHER:
        return _other(offer, where)
    if offer.content is Content.WAY_BACK:
        asked = f", asked for by {code(offer.asked_by)}" if offer.asked_by else ""
        why = f": {code(offer.reason)}" if offer.reason else ""
        said = f"Merging this takes {where} **back to {named}**{asked}{why}. It waits for its pods, and for no gate."
    elif offer.goes_back:
        said = f"**{named} serves already**: {where} went back to it, and main is to say so. Merge this."
    elif offer.before is None:
        said = f"**{named}** is the first version: {where} needs no merge for it, but main is to say what serves."
    else:
        said = f"Merging this promotes **{named}**: {where} moves to it as soon as every gate is open."
    refused = f"> **Do not merge:** {code(offer.refused)}" if offer.refused else ""
    return "\n\n".join(filter(None, [said, refused, "\n".join(_table(offer))]))


def _other(offer: Offer, where: str) -> str:
    """Return all that can be said of what no agent offers: nothing that its author wrote is taken for an offer."""
    said = f"Commit {code(offer.head[:10])} of the branch holds {_NOT_OFFERED} for {where}."
    why = f": {code(offer.refused)}" if offer.refused else ""
    return f"{said}\n\n> **Do not merge** it before you have looked at its commits{why}"


def _images(before: str, after: str, template: str) -> str:
    """Return the images of a pod template: those that differ between two, all where none does."""
    changed = {each.container for each in image_changes(before, after)}
    shown = (image for name, image in images_in(template) if name in changed or not changed)
    return "<br>".join(map(code, shown)) or "–"


def _source_rows(sides: Iterable[Side | ReleaseSide]) -> dict[str, list[str]]:
    """Return who brought each side, and by which commit, as rows of a table."""
    sources = [each.source for each in sides]
    return {
        "Source commit": [code(each.commit[:10]) for each in sources],
        "Says": [code(each.subject) for each in sources],
        "Author": [code(each.author) for each in sources],
    }


def _table(offer: Offer) -> Iterator[str]:
    sides = [*([offer.before] if offer.before else []), offer.to]
    yield f"| | {'Now | ' if offer.before else ''}{'Main is to say' if _is_back(offer) else 'Promoted'} |"
    yield "|---" * (len(sides) + 1) + "|"
    before = offer.before.template if offer.before else ""
    rows = {
        "Version": [code(_name(side)) for side in sides],
        "Images": [_images(before, offer.to.template, each.template) for each in sides],
        **_source_rows(sides),
    }
    for title, cells in rows.items():
        yield f"| {title} | {' | '.join(cells)} |"
    if offer.address:
        yield f"| Try it | {'– | ' if offer.before else ''}<{offer.address}> |"
    held = code(offer.bad_before) if offer.bad_before else "no"
    yield f"| Was on hold before | {'– | ' if offer.before else ''}{held} |"


def _fold(lines: list[str], title: str = "What changes in the pods and in their configuration") -> str:
    if not lines:
        return ""
    return f"<details><summary>{title}</summary>\n\n{block(lines)}\n\n</details>"


def _diff(offer: Offer) -> list[str]:
    """Return the differences of the pod template by path, and the lines on configuration."""
    if offer.content is Content.OTHER:
        return []
    if offer.before is None or not (offer.before.template and offer.to.template):
        return list(offer.configuration)
    found = differences(_template(offer.before), _template(offer.to))
    return [*(line for each in found for line in each.lines), *offer.configuration]


def _way_back(offer: Offer) -> str:
    if offer.content is not Content.OFFERED:
        return (
            "To say no: close this, and delete its branch. That puts no version on hold; what the target asks for is "
            "offered again then."
        )
    back = (
        f"To go back after the merge: `git revert` its commit and push, or `gitops-bg rollback {offer.app}`; "
        "the version before stays warm for a while, and going back waits for no gate."
    )
    no = f"To say no: close this. The version is on hold then; reopening, or `gitops-bg resume {offer.app}`, lifts it."
    if offer.goes_back:
        return f"To go forward again instead: push a better version, or `gitops-bg resume {offer.app}`."
    return f"{back}\n\n{no}"


# --- the status ------------------------------------------------------------------------------------------------------


def status_of(offer: Offer) -> CheckStatus:
    """Return the status for branch protection: pending while a gate is shut, failure if it must not be merged."""
    state, said = _verdict(offer)
    return CheckStatus(offer.head, context_of(offer.cluster), state, plain(said))


def _verdict(offer: Offer) -> tuple[CheckState, str]:
    refused = offer.refused or (f"the branch holds {_NOT_OFFERED}" if offer.content is Content.OTHER else "")
    back = GOES_BACK if offer.content is Content.WAY_BACK else IS_THERE if offer.goes_back else ""
    return verdict(refused, back, (gate for gate in offer.gates if gate.kind != GateKind.APPROVAL))

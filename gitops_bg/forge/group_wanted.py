"""The texts of the pull request of a group's branch: which services move, and who answers which request then. Pure."""

from collections.abc import Iterable, Iterator

from gitops_bg.core.groups.inspect.forecast import Changed
from gitops_bg.forge.markdown import GOES_BACK, IS_THERE, Texts, code, gate_rows, pull_title, verdict, within
from gitops_bg.forge.offer import GroupOffer

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
    yield "\n".join(_table("Service", ahead.followers))
    yield "\n".join(gate_rows(asks.gates))
    yield "Analyses and hooks of the group begin after the merge." if asks.later else ""
    requests = [Changed(str(each.request), each.before, each.after) for each in ahead.answers]
    yield "\n".join(_table("Request", requests))
    same = ahead.same_answers
    yield f"{same} {'request is' if same == 1 else 'requests are'} answered as now." if requests and same else ""
    yield "\n".join(_table("Version", ahead.stages))
    yield _way_back(offer)


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


def _table(title: str, rows: Iterable[Changed]) -> Iterator[str]:
    every = list(rows)
    if every:
        yield f"| {title} | Now | Then |"
        yield "|---|---|---|"
    for each in every[:MOST_ROWS]:
        yield f"| {code(each.name)} | {code(each.before)} | {code(each.after)} |"
    if len(every) > MOST_ROWS:
        yield f"| … and {len(every) - MOST_ROWS} more | | |"


def _way_back(offer: GroupOffer) -> str:
    asks = offer.asks
    no = "To say no: close this. It is not opened again as long as the branch asks for the same."
    if not asks.promotes:
        return no
    rollback = f"`gitops-bg rollback {offer.group} --to {asks.live}`"
    return (
        f"To go back after the merge: `git revert` its commit and push, or {rollback}; {asks.live} stays warm, and "
        f"going back waits for no gate.\n\n{no}"
    )

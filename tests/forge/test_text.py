"""What people write reaches the pull request on every forge as it is, whatever letters it has."""

from __future__ import annotations

from tests.support.forges.worlds import PREFIX, World, draft

TITLE = "shop/web: 🚀 grün 青 \U0001fae0 → 1.5.0"
BODY = (
    "<!-- x -->\n🚀 grün 青 👩\u200d👩\u200d👧 \U0010fffd \u2028\u2029 \ufeff \t\"'\\ \\ud83d\\ude80\n\n"
    "| reason |\n|---|\n| `🚀` \U0001fae0 |"
)


def test_any_letter_of_a_title_a_body_and_a_comment_comes_back_so_that_nothing_is_edited_again(world: World) -> None:
    world.offer()
    forge, wanted = world.forge(), draft(title=TITLE, body=BODY)
    forge.open(wanted)
    (listed,) = forge.open_pulls(PREFIX)
    assert (listed.title, listed.body) == (TITLE, BODY)
    before = world.gate.writes()
    forge.edit(listed, wanted)
    assert world.gate.writes() == before

    marker = "<!-- gitops-bg: shop/web prod-eu -->"
    forge.comment(listed, marker, BODY)
    assert world.comments(listed.number) == [f"{marker}\n{BODY}"]
    before = world.gate.writes()
    forge.comment(listed, marker, BODY)
    assert world.gate.writes() == before

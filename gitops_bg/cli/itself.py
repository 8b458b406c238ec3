"""How this program starts itself: another verb, or an agent, in a process of its own. Starts nothing."""

import sys


def itself(*arguments: str) -> list[str]:
    """Return the command that runs this program, whose modules come from where ours come from.

    With -P: the current folder may be a clone, and what others push there is no module of ours. Not -I: a command that
    was installed for one user is in their site.
    """
    return [sys.executable, "-P", "-c", "from gitops_bg.cli.main import main; main('gitops-bg')", *arguments]

"""An agent without a dashboard does not pay for one."""

from __future__ import annotations

import subprocess
import sys


def test_an_agent_without_a_dashboard_imports_no_templates_and_no_logins() -> None:
    program = (
        "import sys; import gitops_bg.cli.commands.agent, gitops_bg.agent.agent, gitops_bg.web.app;"
        "print({'jinja2', 'authlib', 'gitops_bg.web.dashboard.app'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")

"""Release groups with a real agent: their members, ledger, hooks, analyses, alerts, API and end."""

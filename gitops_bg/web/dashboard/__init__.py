"""The dashboard: pages, rendered by the server, of what the agent knows (dashboard.md). Decides nothing."""

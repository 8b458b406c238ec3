"""Who may do what on the dashboard."""

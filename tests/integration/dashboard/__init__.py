"""The dashboard: its pages over HTTP, and some of them in a real browser."""

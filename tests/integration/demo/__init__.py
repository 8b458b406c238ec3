"""The demo, as a user runs it, and what it does when something is not as it promises."""

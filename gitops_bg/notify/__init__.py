"""Alerts in the words of chats: one file for each. Formats only; who sends them is the caller of hooks."""

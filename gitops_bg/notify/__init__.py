"""Alerts to chats and other services, by apprise. Composes and sends one message; the caller of hooks says when."""

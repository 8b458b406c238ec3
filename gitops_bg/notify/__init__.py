"""The message formats of chats: one file for each. Formats only; the caller of hooks sends them."""

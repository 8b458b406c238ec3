"""Steps in the life of versions and their pods: registered, available, restarted, let go, archived, forgotten."""

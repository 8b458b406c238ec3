"""Pictures of the pages that commands draw."""

"""The examples of pages that no command shows: what the page prints is what the code makes of it."""

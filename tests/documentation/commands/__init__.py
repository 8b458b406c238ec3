"""Every command that a page shows is run, page by page, or says beside it why not; what it prints is compared."""

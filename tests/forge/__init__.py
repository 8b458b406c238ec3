"""Tests of the forge room: the port on three forges, what is asked, what goes wrong, credentials, detection."""

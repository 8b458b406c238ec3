"""The way in: install and uninstall the agent, and what is said where something is missing."""

"""An agent, Git and a forge together."""

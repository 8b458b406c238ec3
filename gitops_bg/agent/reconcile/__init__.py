"""One app, pass after pass: facts, decision, actions, and the work in the background."""

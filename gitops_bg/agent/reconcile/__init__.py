"""One app, pass after pass: facts, decision, actions, and what goes on beside them."""

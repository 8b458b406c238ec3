"""Steps that notify hooks and people of what happened, or that the app waits for them."""

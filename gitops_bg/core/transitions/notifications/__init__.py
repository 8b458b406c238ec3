"""Steps that tell hooks and people what happened, or that they are waited for."""

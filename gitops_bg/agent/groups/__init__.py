"""Release groups in the running agent: their facts, their members, and what policies ask about them."""

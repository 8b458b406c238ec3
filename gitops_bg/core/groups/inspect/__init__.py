"""What people ask about a group beside its status: who answers which request, what comes next. Decides nothing."""

"""What people ask of an app, as a commit of main or a request to the agent: once, for the command line and the
dashboard. What they see before they are sure, and what is refused, is the same there and here.
"""

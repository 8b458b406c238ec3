"""Who asks the dashboard for something, and what they may: logins, roles, and what keeps other pages from acting."""

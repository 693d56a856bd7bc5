"""Where a loader is, what it spends its time on, and how well it shuffles."""

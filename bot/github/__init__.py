"""GitHub's interface as the bot uses it: authentication, limits, and the few operations it needs."""

"""Reports as Markdown for people on GitHub. Everything that comes from a repository is escaped on the way."""

"""`preflight init`: looking at a repository, and the files that set Preflight up in it."""

"""Preflight in an editor: what is open is checked as it is typed, by way of the Language Server Protocol.

`checking` and `documents` know nothing of the protocol; `answers` turns findings into its types; `server` is the only
module that talks. The protocol's libraries come with the extra `lsp`.
"""

"""Released packages held against a ledger of labelled findings."""

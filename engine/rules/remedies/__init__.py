"""How findings are put right: each module holds the remedies of one kind, for whatever rule finds it.

A remedy takes what the rule knows (events, loops, values) and returns a maker, which reads the file only when the
finding is shown. It gives None where the rewrite would have to guess, and is `safe` only where every later use of what
it changes is known: the trace says what a value feeds, the file's own syntax says where a name is read again.
"""

"""Runs of a deep model told from runs with two and with three of its equal blocks.

Most of a shadow run of a large language model goes through one block again and again. `tape` writes down what a run
asks of the allocator, `depth` tells from two tapes what the whole model asks, and `plays` tells the outcome of a change
from it, once the same way has told the outcome of the unchanged run to the byte.
"""

"""Rewrites that touch only what they must.

Every function takes the Module and a place in it (anything with `line`, `column`, `end_line`, `end_column`, such as a
trace's Place; statements are named by one of their lines), and returns a Fix, or None where the rewrite is not
possible without guessing. The edited file always parses. `safe=True` says that later uses are known to keep their
meaning: only then is the fix offered as a suggestion and applied by `--fix`.

    append_method_call(module, place, "detach", safe=True)              x        -> x.detach()
    replace_expression(module, place, "loss.detach()")
    replace_span(module, place, "name=value")                           whatever stands there
    divide(module, place, "accumulation_steps")                         loss     -> loss / accumulation_steps
    unwrap_call(module, place)                                          softmax(x, -1) or x.softmax(-1) -> x
    add_keyword(module, call_place, "map_location", '"cpu"')            sets or adds a keyword argument
    replace_call_argument(module, call_place, 0, "x")                   by position, or by keyword name
    insert_statement_before(module, line, "optimizer.zero_grad()")      same indentation as the statement
    insert_statement_after(module, line, "scaler.update()")
    insert_first_in_body(module, line, "sampler.set_epoch(epoch)")      first in the body of a loop, with or function
    replace_statement(module, line, "loss = loss / n")
    remove_statement(module, line)
    swap_statements(module, first_line, second_line)                    neighbours of one block
    move_statement_before(module, line, other_line)                     within one block
    wrap_with(module, first_line, last_line, "torch.no_grad()")         puts whole statements of one block in a with
    add_decorator(module, line, "@torch.no_grad()")
    call_decorator(module, place)                                       torch.no_grad -> torch.no_grad()
    combine(fix, fix)                                                   several edits of one file as one fix
"""

from engine.fixes.applying import applied, apply_edits
from engine.fixes.expressions import (
    add_keyword,
    append_method_call,
    call_decorator,
    divide,
    replace_call_argument,
    replace_expression,
    replace_span,
    unwrap_call,
)
from engine.fixes.making import Span, combine
from engine.fixes.statements import (
    add_decorator,
    insert_first_in_body,
    insert_statement_after,
    insert_statement_before,
    move_statement_after,
    move_statement_before,
    remove_statement,
    replace_statement,
    swap_statements,
    wrap_with,
)

__all__ = [
    "Span",
    "add_decorator",
    "add_keyword",
    "append_method_call",
    "applied",
    "apply_edits",
    "call_decorator",
    "combine",
    "divide",
    "insert_first_in_body",
    "insert_statement_after",
    "insert_statement_before",
    "move_statement_after",
    "move_statement_before",
    "remove_statement",
    "replace_call_argument",
    "replace_expression",
    "replace_span",
    "replace_statement",
    "swap_statements",
    "unwrap_call",
    "wrap_with",
]

"""An analysis process that finds something in every file, and breaks at what a file says."""

from __future__ import annotations

import os
import signal
import sys

from bot.review.analyst import limit_resources
from bot.review.exchange import Request
from engine.findings import Finding, ReviewReport


def main() -> None:
    """Answer one request, or break."""
    request = Request.model_validate_json(sys.stdin.buffer.read())
    limit_resources(request.memory_bytes, request.cpu_seconds)
    for file in request.changed:
        text = request.contents[request.head[file.filename]].text
        if text == "never ends":
            while True:
                pass
        if text == "eats memory":
            bytearray(2 * request.memory_bytes)
        if text == "crashes" or (text == "breaks the estimate" and request.settings.memory):
            os.abort()
    slow = [file for file in request.changed if request.contents[request.head[file.filename]].text == "takes a second"]
    if len(slow) > request.cpu_seconds:
        os.kill(os.getpid(), signal.SIGXCPU)
    findings = [
        Finding(
            rule="PF1",
            name="n",
            severity="note",
            path=file.filename,
            line=1,
            column=1,
            end_line=1,
            end_column=2,
            message="m",
        )
        for file in request.changed
    ]
    sys.stdout.write(ReviewReport(introduced=tuple(findings)).model_dump_json())


if __name__ == "__main__":
    main()

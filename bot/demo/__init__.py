"""`preflight-bot demo`: the bot reviews a real pull request of a local repository, on a stand-in for GitHub."""

from bot.demo.command import main

__all__ = ["main"]

"""The operations of the REST API, one module a subject; importing the package registers them all."""

from bot.standin.operations import apps, checks, comments, contents, pulls, reviews

__all__ = ["apps", "checks", "comments", "contents", "pulls", "reviews"]

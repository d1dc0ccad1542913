"""The conversation of a pull request, and reactions."""

from __future__ import annotations

from bot.standin.exchange import Answer, Request, body_text, operation
from bot.standin.refusals import not_found
from bot.standin.state import Comment, Reaction


@operation("issues/list-comments")
def list_comments(request: Request) -> Answer:
    pull = request.pull("issue_number")
    rows = [comment for comment in request.github.comments if comment.pull is pull]
    return request.page(rows, request.documents.comment)


@operation("issues/create-comment")
def create(request: Request) -> Answer:
    github, pull, text = request.github, request.pull("issue_number"), body_text(request)
    now = github.clock()
    comment = Comment(github.new_id(), pull, github.app.bot_login, True, text, now, now)
    github.comments.append(comment)
    return Answer(201, request.documents.comment(comment))


def _comment(request: Request) -> Comment:
    number = request.number("comment_id")
    for comment in request.github.comments:
        if comment.id == number and comment.pull.repository is request.repo:
            return comment
    raise not_found()


@operation("issues/get-comment")
def get(request: Request) -> Answer:
    return Answer(body=request.documents.comment(_comment(request)))


@operation("issues/update-comment")
def update(request: Request) -> Answer:
    comment, text = _comment(request), body_text(request)
    comment.edits.append(comment.body)
    comment.body, comment.updated_at = text, request.github.clock()
    return Answer(body=request.documents.comment(comment))


@operation("issues/delete-comment")
def delete(request: Request) -> Answer:
    request.github.comments.remove(_comment(request))
    return Answer(204)


def _react(request: Request, subject: int, kind: str) -> Answer:
    """The same reaction a second time is the first one again, with 200 instead of 201."""
    github, content = request.github, request.body["content"]
    for reaction in github.reactions:
        if (reaction.subject, reaction.kind, reaction.content) == (subject, kind, content) and (
            reaction.author == github.app.bot_login
        ):
            return Answer(200, request.documents.reaction(reaction))
    reaction = Reaction(github.new_id(), subject, kind, content, github.app.bot_login, github.clock())
    github.reactions.append(reaction)
    return Answer(201, request.documents.reaction(reaction))


@operation("reactions/create-for-issue-comment")
def react_to_comment(request: Request) -> Answer:
    return _react(request, _comment(request).id, "issue")


@operation("reactions/create-for-pull-request-review-comment")
def react_to_review_comment(request: Request) -> Answer:
    number = request.number("comment_id")
    if not any(comment.id == number for comment in request.github.review_comments):
        raise not_found()
    return _react(request, number, "review")


@operation("reactions/list-for-issue-comment")
def list_reactions(request: Request) -> Answer:
    comment = _comment(request)
    rows = [entry for entry in request.github.reactions if entry.subject == comment.id and entry.kind == "issue"]
    if content := request.query.get("content"):
        rows = [entry for entry in rows if entry.content == content]
    return request.page(rows, request.documents.reaction)


@operation("reactions/delete-for-issue-comment")
def delete_reaction(request: Request) -> Answer:
    number = request.number("reaction_id")
    rows = [entry for entry in request.github.reactions if entry.id == number]
    if not rows:
        raise not_found()
    request.github.reactions.remove(rows[0])
    return Answer(204)

"""Reviews and their line comments, where GitHub is strictest."""

from __future__ import annotations

from bot.standin.anchors import Anchor, Side, anchor
from bot.standin.exchange import Answer, Request, check_length, operation
from bot.standin.git import UnknownRevision
from bot.standin.refusals import Refused, invalid, not_found
from bot.standin.state import Json, PullRequest, Review, ReviewComment


def place(pull: PullRequest, commit_sha: str, entry: Json) -> Anchor | str:
    """The anchor of one requested comment in the pull request's diff up to that commit, or why it has none."""
    files = {file.path: file for file in pull.files(commit_sha)}
    file = files.get(entry["path"])
    if file is None:
        return "Path could not be resolved"
    if file.patch is None:
        return "Line could not be resolved"
    side: Side = entry.get("side", "RIGHT")
    return anchor(file.patch, entry.get("line"), side, entry.get("start_line"), entry.get("start_side"))


def _reviewed_commit(request: Request, pull: PullRequest) -> str:
    sha = request.body.get("commit_id", pull.head_sha)
    commits = {commit.sha for commit in pull.repository.git.commits_between(pull.merge_base(), pull.head_sha)}
    if sha in commits | {pull.head_sha}:
        return str(sha)
    try:
        # A force-push leaves the old commits readable; GitHub takes comments on them, outdated from the start.
        return pull.repository.git.commit_sha(sha)
    except UnknownRevision:
        raise invalid("commit_id is not part of the pull request", message="Unprocessable Entity") from None


def _comment(request: Request, review: Review, commit: str, entry: Json, found: Anchor | None) -> ReviewComment:
    now, pull = request.github.clock(), review.pull
    line, start = entry.get("line"), entry.get("start_line")
    side: Side = entry.get("side", "RIGHT")
    comment = ReviewComment(
        id=request.github.new_id(),
        pull=pull,
        review_id=review.id,
        author=review.author,
        is_bot=review.is_bot,
        path=entry["path"],
        body=entry["body"],
        side=side,
        line=line,
        start_line=start,
        start_side=entry.get("start_side", side) if start is not None else None,
        diff_hunk=found.diff_hunk if found else "",
        position=found.position if found else None,
        commit_sha=commit,
        original_commit_sha=commit,
        original_line=line,
        original_start_line=start,
        created_at=now,
        updated_at=now,
        subject="line" if found else "file",
    )
    review.comments.append(comment)
    request.github.review_comments.append(comment)
    request.github.follow(comment)
    return comment


@operation("pulls/create-review")
def create(request: Request) -> Answer:
    """All comments or none: one that has no place in the diff refuses the whole review."""
    github, pull, body = request.github, request.pull(), request.body
    text, event = str(body.get("body") or ""), body.get("event")
    if event in ("COMMENT", "REQUEST_CHANGES") and not text.strip():
        raise invalid("Body can't be blank", message="Unprocessable Entity")
    check_length(text)
    commit = _reviewed_commit(request, pull)
    places = []
    for entry in body.get("comments") or []:
        if not entry["body"].strip():
            raise invalid("Pull request review thread body can't be blank", message="Unprocessable Entity")
        check_length(entry["body"])
        found = place(pull, commit, entry)
        if isinstance(found, str):
            raise invalid(found, message="Unprocessable Entity")
        places.append((entry, found))
    review = Review(github.new_id(), pull, github.app.bot_login, True, text, event, commit, github.clock())
    for entry, found in places:
        _comment(request, review, commit, entry, found)
    github.reviews.append(review)
    return Answer(200, request.documents.review(review))


@operation("pulls/list-reviews")
def list_reviews(request: Request) -> Answer:
    pull = request.pull()
    rows = [review for review in request.github.reviews if review.pull is pull]
    return request.page(rows, request.documents.review)


def _review(request: Request) -> Review:
    number, pull = request.number("review_id"), request.pull()
    for review in request.github.reviews:
        if review.id == number and review.pull is pull:
            return review
    raise not_found()


@operation("pulls/update-review")
def update(request: Request) -> Answer:
    review = _review(request)
    check_length(request.body["body"])
    review.body = request.body["body"]
    return Answer(body=request.documents.review(review))


@operation("pulls/submit-review")
def submit(request: Request) -> Answer:
    review = _review(request)
    if review.event:
        raise invalid("Can not submit a review that is not pending", message="Unprocessable Entity")
    text = request.body.get("body") or review.body
    if request.body["event"] != "APPROVE" and not text:
        raise invalid("Body can't be blank", message="Unprocessable Entity")
    review.body, review.event = text, request.body["event"]
    return Answer(body=request.documents.review(review))


@operation("pulls/delete-pending-review")
def delete_pending(request: Request) -> Answer:
    """Only a pending review can go; a submitted one stays for ever."""
    github, review = request.github, _review(request)
    if review.event:
        raise invalid("Can not delete a non-pending pull request review", message="Unprocessable Entity")
    github.reviews.remove(review)
    github.review_comments[:] = [comment for comment in github.review_comments if comment.review_id != review.id]
    return Answer(body=request.documents.review(review))


@operation("pulls/list-comments-for-review")
def list_comments_of_review(request: Request) -> Answer:
    return request.page(_review(request).comments, request.documents.review_comment)


@operation("pulls/list-review-comments")
def list_comments(request: Request) -> Answer:
    """Comments of pending reviews are nobody's but their author's, and are not listed."""
    github, pull = request.github, request.pull()
    pending = {review.id for review in github.reviews if review.event is None}
    rows = [entry for entry in github.review_comments if entry.pull is pull and entry.review_id not in pending]
    if request.query.get("direction") == "desc":
        rows.reverse()
    return request.page(rows, request.documents.review_comment)


@operation("pulls/create-review-comment")
def create_comment(request: Request) -> Answer:
    github, pull, body = request.github, request.pull(), request.body
    check_length(body["body"])
    if "in_reply_to" in body:
        return _answer(request, pull, body["in_reply_to"])
    commit = _reviewed_commit(request, pull)
    found: Anchor | None = None
    if body.get("subject_type") == "file":
        if body["path"] not in {file.path for file in pull.files(commit)}:
            raise invalid({"resource": "PullRequestReviewComment", "code": "invalid", "field": "path"})
    else:
        placed = place(pull, commit, body)
        if isinstance(placed, str):
            error: Json = {"resource": "PullRequestReviewComment", "code": "custom", "message": placed}
            raise invalid({**error, "field": "pull_request_review_thread.line"})
        found = placed
    review = Review(github.new_id(), pull, github.app.bot_login, True, "", "COMMENT", commit, github.clock())
    github.reviews.append(review)
    return Answer(201, request.documents.review_comment(_comment(request, review, commit, body, found)))


@operation("pulls/create-reply-for-review-comment")
def reply(request: Request) -> Answer:
    check_length(request.body["body"])
    return _answer(request, request.pull(), request.number("comment_id"))


def _answer(request: Request, pull: PullRequest, top_id: int) -> Answer:
    """Only the first comment of a thread can be answered."""
    github = request.github
    top = next((entry for entry in github.review_comments if entry.id == top_id and entry.pull is pull), None)
    if top is None:
        raise not_found()
    if top.in_reply_to is not None:
        raise Refused(
            422,
            "Validation Failed",
            [{"resource": "PullRequestReviewComment", "code": "invalid", "field": "in_reply_to"}],
        )
    comment = github.reply_to(top, github.app.bot_login, request.body["body"])
    return Answer(201, request.documents.review_comment(comment))


def _own_comment(request: Request) -> ReviewComment:
    number = request.number("comment_id")
    for comment in request.github.review_comments:
        if comment.id == number and comment.pull.repository is request.repo:
            return comment
    raise not_found()


@operation("pulls/update-review-comment")
def update_comment(request: Request) -> Answer:
    comment = _own_comment(request)
    check_length(request.body["body"])
    comment.body, comment.updated_at = request.body["body"], request.github.clock()
    return Answer(body=request.documents.review_comment(comment))


@operation("pulls/delete-review-comment")
def delete_comment(request: Request) -> Answer:
    request.github.review_comments.remove(_own_comment(request))
    return Answer(204)

"""The JSON of people, Apps, installations and repositories: what the other documents refer to."""

from __future__ import annotations

import zlib

from bot.standin.state import Json, Repository, stamp
from bot.standin.world import World

REPOSITORY_LINKS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}


def user_id(login: str) -> int:
    """A stable number for a login, without a list of people."""
    return zlib.crc32(login.encode())


class AccountDocuments:
    def __init__(self, github: World) -> None:
        self.github = github

    @property
    def api(self) -> str:
        return self.github.url

    @property
    def web(self) -> str:
        return self.github.web_url

    def user(self, login: str) -> Json:
        bot = login.endswith("[bot]")
        api, page = f"{self.api}/users/{login}", f"{self.web}/{login}"
        links = {
            f"{name}_url": f"{api}/{path}"
            for name, path in {
                "followers": "followers",
                "following": "following{/other_user}",
                "gists": "gists{/gist_id}",
                "starred": "starred{/owner}{/repo}",
                "subscriptions": "subscriptions",
                "organizations": "orgs",
                "repos": "repos",
                "events": "events{/privacy}",
                "received_events": "received_events",
            }.items()
        }
        return {
            "login": login,
            "id": user_id(login),
            "node_id": f"U_{user_id(login)}",
            "avatar_url": f"{page}.png",
            "gravatar_id": "",
            "url": api,
            "html_url": page,
            **links,
            "type": "Bot" if bot else "User",
            "site_admin": False,
            "user_view_type": "public",
        }

    def owner(self, login: str) -> Json:
        return {**self.user(login), "type": "Organization"}

    def organization(self, login: str) -> Json:
        """The owner as webhooks add it beside the repository."""
        api = f"{self.api}/orgs/{login}"
        links = {f"{name}_url": f"{api}/{name}" for name in ("repos", "events", "hooks", "issues")}
        facts = {"login": login, "id": user_id(login), "node_id": f"O_{user_id(login)}", "url": api, **links}
        members = {"members_url": f"{api}/members{{/member}}", "public_members_url": f"{api}/public_members{{/member}}"}
        return {**facts, **members, "avatar_url": f"{self.web}/{login}.png", "description": None}

    def app(self) -> Json:
        app = self.github.app
        return {
            "id": app.id,
            "slug": app.slug,
            "node_id": f"A_{app.id}",
            "client_id": app.client_id,
            "owner": self.owner("preflight-maintainers"),
            "name": app.slug.title(),
            "description": "",
            "external_url": self.web,
            "html_url": f"{self.web}/apps/{app.slug}",
            "created_at": stamp(0),
            "updated_at": stamp(0),
            "permissions": dict(app.permissions),
            "events": list(app.events),
        }

    def installation(self, installation_id: int) -> Json:
        owner = self.github.installation_owner(installation_id)
        api, app = self.api, self.github.app
        return {
            "id": installation_id,
            "account": self.owner(owner),
            "repository_selection": "selected",
            "access_tokens_url": f"{api}/app/installations/{installation_id}/access_tokens",
            "repositories_url": f"{api}/installation/repositories",
            "html_url": f"{self.web}/organizations/{owner}/settings/installations/{installation_id}",
            "app_id": app.id,
            "app_slug": app.slug,
            "target_id": user_id(owner),
            "target_type": "Organization",
            "permissions": dict(app.permissions),
            "events": list(app.events),
            "created_at": stamp(0),
            "updated_at": stamp(0),
            "single_file_name": None,
            "suspended_by": None,
            "suspended_at": None,
        }

    def repository(self, repository: Repository) -> Json:
        api, page = f"{self.api}/repos/{repository.full_name}", f"{self.web}/{repository.full_name}"
        opened = sum(pull.state == "open" for pull in self.github.pulls if pull.repository is repository)
        return {
            "id": repository.id,
            "node_id": f"R_{repository.id}",
            "name": repository.name,
            "full_name": repository.full_name,
            "private": repository.private,
            "owner": self.owner(repository.owner),
            "html_url": page,
            "description": None,
            "fork": False,
            "url": api,
            **{name: api + path for name, path in REPOSITORY_LINKS.items()},
            "clone_url": f"{page}.git",
            "git_url": f"git:{page}.git",
            "ssh_url": f"git@{page}.git",
            "svn_url": page,
            "mirror_url": None,
            "homepage": None,
            "language": "Python",
            "forks_count": 0,
            "forks": 0,
            "size": 0,
            "stargazers_count": 0,
            "watchers_count": 0,
            "watchers": 0,
            "open_issues_count": opened,
            "open_issues": opened,
            "default_branch": repository.default_branch,
            "is_template": False,
            "topics": [],
            "custom_properties": {},
            "has_issues": True,
            "has_projects": True,
            "has_wiki": True,
            "has_pages": False,
            "has_downloads": True,
            "has_discussions": False,
            "archived": False,
            "disabled": False,
            "license": None,
            "allow_forking": True,
            "web_commit_signoff_required": False,
            "visibility": "private" if repository.private else "public",
            "created_at": stamp(0),
            "updated_at": stamp(0),
            "pushed_at": stamp(0),
            "network_count": 0,
            "subscribers_count": 0,
        }

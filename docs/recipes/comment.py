"""Put a Markdown file on the pull or merge request of this job, as one comment kept up to date.

    python comment.py report/comment.md

On GitHub it needs GITHUB_TOKEN, on GitLab PROMPTSE_TOKEN, a project access token with scope api.
"""

import json
import os
import sys
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

MARK = "<!-- promptse -->"
# GitHub refuses a comment with more characters.
LONGEST = 65_536


def main(path):
    token_name = "GITHUB_TOKEN" if "GITHUB_ACTIONS" in os.environ else "PROMPTSE_TOKEN"
    if not os.environ.get(token_name):
        sys.exit(f"comment.py: {token_name} is not set, so there is no comment; give it a token")
    try:
        update(shortened(f"{MARK}\n{Path(path).read_text(encoding='utf-8')}"))
    except FileNotFoundError:
        sys.exit(f"comment.py: {path} does not exist; the tests have not written it")
    except URLError as error:
        sys.exit(f"comment.py: {error}; {token_name} must be allowed to write comments")


def shortened(body):
    """Leave out the last lines of a body that is too long, and say so."""
    if len(body) <= LONGEST:
        return body
    end = "\n\nThe rest is in `comment.md` among the artifacts of this job.\n"
    return body[: LONGEST - len(end)].rpartition("\n")[0] + end


def update(body):
    if "GITHUB_ACTIONS" in os.environ:
        event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        issues = "{GITHUB_API_URL}/repos/{GITHUB_REPOSITORY}/issues".format(**os.environ)
        comments = f"{issues}/{event['pull_request']['number']}/comments"
        single, change = f"{issues}/comments", "PATCH"
        token = {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}"}
    else:
        requests = "{CI_API_V4_URL}/projects/{CI_PROJECT_ID}/merge_requests".format(**os.environ)
        comments = f"{requests}/{os.environ['CI_MERGE_REQUEST_IID']}/notes"
        single, change = comments, "PUT"
        token = {"PRIVATE-TOKEN": os.environ["PROMPTSE_TOKEN"]}
    for earlier in every(comments, token):
        if earlier["body"].startswith(MARK):
            send(change, f"{single}/{earlier['id']}", token, body)
            return
    send("POST", comments, token, body)


def every(comments, token):
    page = 1
    while found := send("GET", f"{comments}?per_page=100&page={page}", token):
        yield from found
        page += 1


def send(method, url, token, body=None):
    data = None if body is None else json.dumps({"body": body}).encode()
    headers = {**token, "Content-Type": "application/json"}
    with urlopen(Request(url, data=data, headers=headers, method=method), timeout=30) as answer:
        return json.load(answer)


if __name__ == "__main__":
    main(sys.argv[1])

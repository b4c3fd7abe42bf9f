"""What pyproject.toml says of the package beside fixed texts, for scikit-build-core.

The repository's address is HOMEPAGE_URL of project() in CMakeLists.txt; an index shows README.md without the files around
it, so its links lead there. The licences of bundled libraries are those that scripts/wheel collects in UNDERSTUDY_LICENCES.
"""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?)\[((?:!\[[^\]]*\]\([^)]*\)|[^\]])*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def dynamic_metadata(settings, project):
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    url = re.search(r'HOMEPAGE_URL "([^"]+)"', cmake)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    licences = os.environ.get("UNDERSTUDY_LICENCES")
    return {"readme": {"text": absolute(readme, url[1]) if url else readme, "content-type": "text/markdown"},
            "urls": {"Homepage": url[1], "Changelog": f"{url[1]}/blob/main/CHANGELOG.md"} if url else {},
            "license-files": ["LICENSE", *([f"{licences}/*"] if licences else [])]}


def absolute(text, url):
    """Returns the text with links to files as links into the repository, and images as their files."""
    def lead(link):
        kind = "raw" if link[1] else "blob"
        return f"{link[1]}[{absolute(link[2], url)}]({url}/{kind}/main/{link[3]})"

    return LINK.sub(lead, text)

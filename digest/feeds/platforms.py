"""Platforms: hosts that many publishers share, and how an address there names its publisher.

What the public suffix list knows (github.io, blogspot.com, netlify.app, …) needs no line here. The publisher
is part of the host (`SUFFIXES`), or of the path or query (`RULES`); either way feeds and items of one
publisher get one key where their addresses say enough. Pure."""

import re
from typing import Final
from urllib.parse import unquote

# Below these every name is a publisher of its own, as below a public suffix.
_SUFFIX_NAMES: Final = """
    substack.com wordpress.com tumblr.com ghost.io bearblog.dev beehiiv.com livejournal.com dreamwidth.org
    typepad.com posthaven.com svbtle.com over-blog.com micro.blog mataroa.blog prose.sh writeas.com
    neocities.org hashnode.dev squarespace.com canalblog.com exblog.jp seesaa.net cocolog-nifty.com
    medium.com libsyn.com podbean.com fireside.fm simplecast.com bandcamp.com itch.io
"""
SUFFIXES: Final = tuple(_SUFFIX_NAMES.split())
# Names below those that are the platform's own.
OWN_NAMES: Final = frozenset(
    ["www", "www2", "m", "feed", "feeds", "feeds2", "rss", "open", "api", "old", "new"]
)

_END: Final = r"(?:\.(?:rss|atom|xml|json))*(?=[/?]|\Z)"
_OWNER: Final = rf"([\w@~][\w.@~+-]*?){_END}"
_LABEL: Final = rf"([a-z0-9][a-z0-9-]*){_END}"
_PROJECT: Final = r"([\w~][\w.-]*/[\w][\w.-]*?)(?:\.(?:rss|atom))*(?=[/?]|\Z)"
_FEEDBURNER: Final = (
    (rf"/(?:feeds/|~r/)?((?:blogspot|typepad|wordpress|tumblr)/[\w-]+){_END}", "feedburner.com/{}"),
    (rf"/(?:feeds/|~r/)?{_OWNER}", "feedburner.com/{}"),
)
_REPOSITORIES: Final = ((f"/{_PROJECT}", "{host}/{}"), (f"/{_OWNER}", "{host}/{}"))
_FIRST: Final = ((f"/{_OWNER}", "{host}/{}"),)
_ACCOUNTS: Final = ((rf"/(?:@|users/){_OWNER}", "{host}/@{}"),)

_RULES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    # Feeds carried for others.
    "feedburner.com": _FEEDBURNER,
    "feedproxy.google.com": _FEEDBURNER,
    "feedblitz.com": ((rf"/~/\d+/\d+/{_OWNER}", "{host}/{}"), *_FIRST),
    "rss.app": ((rf"/(?:feeds/)?{_OWNER}", "{host}/{}"),),
    "rsshub.app": ((r"/([\w@~][\w.@~+:/-]*?)/?(?=\?|\Z)", "{host}/{}"),),
    "blogger.com": ((r"/feeds/(\d+)", "{host}/feeds/{}"),),
    # Blogs and newsletters.
    "medium.com": (
        (rf"/(?:feed/)?tag/{_OWNER}", "{host}/tag/{}"),
        (rf"/(?:feed/)?(?!(?:feed|tag|p|m|me|search)(?:[/?]|\Z)){_OWNER}", "{host}/{}"),
    ),
    "substack.com": ((rf"/pub/{_LABEL}", "{}.{host}"), (rf"/(?=@){_OWNER}", "{host}/{}")),
    "tumblr.com": ((rf"/(?:blog/view/)?{_LABEL}", "{}.{host}"),),
    "beehiiv.com": ((rf"/(?:feeds/)?{_OWNER}", "{host}/{}"),),
    "buttondown.email": ((f"/{_OWNER}", "buttondown.com/{}"),),
    "dev.to": ((rf"/(?:feed/)?(?!(?:feed|t|tag)(?:[/?]|\Z)){_OWNER}", "{host}/{}"),),
    # Videos, pictures, discussion.
    "youtube.com": (
        (r"/feeds/videos\.xml\?(?:.*&)?channel_id=([\w-]+)", "{host}/channel/{}"),
        (r"/feeds/videos\.xml\?(?:.*&)?playlist_id=([\w-]+)", "{host}/playlist/{}"),
        (r"/feeds/videos\.xml\?(?:.*&)?user=([\w.-]+)", "{host}/user/{}"),
        (r"/playlist\?(?:.*&)?list=([\w-]+)", "{host}/playlist/{}"),
        (r"/((?:channel|playlist|user|c)/[\w.-]+|@[\w.-]+)", "{host}/{}"),
    ),
    "flickr.com": (
        (r"/services/feeds/\w+\.gne\?(?:.*&)?id=([\w@-]+)", "{host}/photos/{}"),
        (rf"/photos/{_OWNER}", "{host}/photos/{}"),
    ),
    "reddit.com": ((rf"/r/{_OWNER}", "{host}/r/{}"), (rf"/u(?:ser)?/{_OWNER}", "{host}/user/{}")),
    "bsky.app": ((rf"/profile/{_OWNER}", "{host}/profile/{}"),),
    # Software.
    "raw.githubusercontent.com": ((f"/{_PROJECT}", "github.com/{}"),),
    "sr.ht": ((r"/(~[\w.-]+)", "{host}/{}"),),
    # Podcasts.
    "podbean.com": ((rf"/{_LABEL}", "{}.{host}"),),
    "fireside.fm": ((rf"/{_LABEL}", "{}.{host}"),),
    "soundcloud.com": ((r"/users/(?:soundcloud:users:)?(\d+)", "{host}/users/{}"), *_FIRST),
    "art19.com": ((rf"/(?:shows/)?{_OWNER}", "{host}/{}"),),
    "acast.com": ((rf"/(?:public/)?(?:shows/)?{_OWNER}", "{host}/{}"),),
    "anchor.fm": ((r"/(s/[\w-]+)", "{host}/{}"), *_FIRST),
    "spreaker.com": ((rf"/show/{_OWNER}", "{host}/show/{}"),),
    "audioboom.com": ((rf"/channels/{_OWNER}", "{host}/channels/{}"),),
    "patreon.com": ((rf"/(?:rss/)?(?!(?:rss|posts)(?:[/?]|\Z)){_OWNER}", "{host}/{}"),),
}
_FIRST_NAMES: Final = """
    feedpress.me feedpress.it buttondown.com world.hey.com write.as tinyletter.com qiita.com zenn.dev
    note.com ameblo.jp libsyn.com simplecast.com megaphone.fm buzzsprout.com transistor.fm captivate.fm
"""
_REPOSITORY_NAMES: Final = "github.com gitlab.com codeberg.org bitbucket.org"
_ACCOUNT_NAMES: Final = """
    mastodon.social mastodon.online fosstodon.org hachyderm.io infosec.exchange mas.to mstdn.social
"""
RULES: Final = {
    host: tuple((re.compile(pattern), template) for pattern, template in rules)
    for host, rules in {
        **dict.fromkeys(_FIRST_NAMES.split(), _FIRST),
        **dict.fromkeys(_REPOSITORY_NAMES.split(), _REPOSITORIES),
        **dict.fromkeys(_ACCOUNT_NAMES.split(), _ACCOUNTS),
        **_RULES,
    }.items()
}


def publisher_key(*, host: str, domain: str, path: str, query: str) -> str:
    """Return the publisher's key: `domain` (the name right below the public suffix or platform) or longer.

    `host` is the whole host, `path` and `query` may be percent-encoded. Keys are in lower case; the key of a
    key, read as an address, is that key.
    """
    label, _, platform = domain.partition(".")
    if platform in SUFFIXES:
        if label not in OWN_NAMES:
            return f"{platform}/@{label}" if platform == "medium.com" else domain
        domain = platform
    name = host if host in RULES else domain
    place = re.sub("/+", "/", f"/{unquote(path)}") + (f"?{unquote(query)}" if query else "")
    for pattern, template in RULES.get(name, ()):
        if found := pattern.match(place.casefold()):
            owner = found[1]
            if template.startswith("{}.") and owner in OWN_NAMES:
                break
            return template.format(owner, host=name)
    return domain

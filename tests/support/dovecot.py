"""A Dovecot in tests: a real IMAP server with one mailbox, on a port of its own."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.support.processes import wait_until

NAME, PASSWORD = "letters", "l3tters-p4ss/word"
CONFIG = """
protocols = imap
listen = 127.0.0.1
base_dir = {folder}/run
log_path = {folder}/log
ssl = no
disable_plaintext_auth = no
mail_location = maildir:{folder}/mail
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid=nobody gid=nogroup home={folder}/mail
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
"""


class Dovecot:
    """A running server; `deliver` puts a mail into its mailbox as a mail server would."""

    def __init__(self, folder: Path, port: int) -> None:
        self.inbox, self.port = folder / "mail", port
        self.url = f"imap://{NAME}:{PASSWORD.replace('/', '%2F')}@127.0.0.1:{port}"

    def deliver(self, mail: bytes) -> None:
        """Put a mail into the mailbox."""
        name = uuid4().hex
        (self.inbox / "tmp" / name).write_bytes(mail)
        os.rename(self.inbox / "tmp" / name, self.inbox / "new" / name)


@contextmanager
def dovecot_started() -> Iterator[Dovecot]:
    """Start a server; it ends with the block. Its processes are of users who must enter its folder."""
    folder = Path(tempfile.mkdtemp(prefix="dovecot-"))
    folder.chmod(0o755)
    for path in (folder / "mail", *(folder / "mail" / name for name in ("tmp", "new", "cur"))):
        path.mkdir()
        path.chmod(0o777)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "dovecot.conf"
    config.write_text(CONFIG.format(folder=folder, port=port, password=PASSWORD))
    process = subprocess.Popen(["dovecot", "-F", "-c", str(config)])
    try:
        wait_until(lambda: _answers(port), "Dovecot")
        yield Dovecot(folder, port)
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as end:
            return end.recv(4) == b"* OK"
    except OSError:
        return False

"""Fetches model files from Millrace into the folders of models, and removes them again."""

import errno
import glob
import hashlib
import http.client
import os
import shutil
import time
import urllib.error
import urllib.request

try:
    from blake3 import blake3
except ImportError:  # older releases of ComfyUI do not require it; Millrace then gives another hash
    blake3 = None

CHUNK = 1 << 20  # bytes that are read at a time
SILENCE = 300  # seconds; before Millrace sends the rest of a file it reads the whole file
PAUSES = (1, 2, 4, 8, 16)  # seconds, before further attempts after a connection that brought nothing
FORGOTTEN = 7 * 24 * 3600  # seconds after which an incomplete file is removed when another one is fetched into its folder


class Refused(ValueError):
    """A request for anything but a model file in a folder of models."""


class Failed(Exception):
    """The file was not fetched, and what was received of it is removed. Or it was not removed."""


class Broken(Failed):
    """The file was not fetched. What was received of it is kept, and a later request fetches the rest."""


class Work:
    """One request. done is the number of bytes that are there or were read, and result the answer after the end of run."""

    MEMBERS = {"folder": str, "name": str, "blake3": str, "size": int}

    def __init__(self, request, folders, suffixes):
        """folders are the folders of models as ComfyUI's folder_paths has them, suffixes those of models in any folder."""
        given = request if isinstance(request, dict) else {}
        for member, kind in self.MEMBERS.items():
            if not isinstance(given.get(member), kind):
                raise Refused("a member of the request is missing or wrong")
            setattr(self, member, given[member])
        paths, allowed = folders.get(self.folder, ((), ()))
        if not paths or self.folder == "custom_nodes":
            raise Refused("folder is not one of the folders of models")
        self.paths, self.parts = paths, self.name.split("/")
        if any(part.startswith(".") or not part or set(part) & set("\\:\0") for part in self.parts):
            raise Refused("name leads out of its folder or is hidden")
        if os.path.splitext(self.parts[-1])[1] not in (allowed or suffixes):
            raise Refused("name does not end as the files of the folder do")
        self.part = f".millrace-{hashlib.sha256(self.blake3.encode()).hexdigest()[:16]}.part"
        self.hash, self.wanted = (blake3, self.blake3) if blake3 else (hashlib.sha256, given.get("sha256"))
        self.done, self.sent, self.lacks, self.stopped, self.result = 0, 0, 0, False, None

    def run(self):
        """Does the work. It runs in a thread of its own and ends soon after stopped is set."""
        try:
            self.result = self._work()
        except Failed as failed:
            self.result = {"error": str(failed), "lacks": self.lacks}
        except OSError as failed:
            full = failed.errno in (errno.ENOSPC, errno.EDQUOT)
            self.result = {"error": "the disk of the server is full" if full else f"the file could not be changed: {failed.strerror}"}
        finally:
            self.result = self.result or {"error": "the node pack failed"}

    def _read(self, file):
        """Returns the hash of a file after its last byte."""
        self.done, digest = 0, self.hash()
        while chunk := file.read(CHUNK):
            self._add(chunk, digest)
        return digest

    def _add(self, chunk, digest):
        if self.stopped:
            raise Broken("Millrace does not wait for the file any more")
        digest.update(chunk)
        self.done += len(chunk)


class Eviction(Work):
    """Removes a file that was fetched, if it still has its hash."""

    def _work(self):
        path = os.path.join(os.path.realpath(self.paths[0]), *self.parts)
        if os.path.realpath(path) != path or not os.path.isfile(path) or os.path.getsize(path) != self.size:
            return {"removed": False}
        try:
            with open(path, "rb") as file:
                before, digest = os.fstat(file.fileno()), self._read(file)
            after = os.lstat(path)
            same = digest.hexdigest() == self.wanted and (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
            if same := same and not self.stopped:
                os.remove(path)
            return {"removed": same}
        except FileNotFoundError:  # another request has removed it
            return {"removed": False}


class Fetch(Work):
    """Fetches a file, unless it is there."""

    MEMBERS = {**Work.MEMBERS, "url": str, "reserve": int}

    def __init__(self, request, folders, suffixes):
        super().__init__(request, folders, suffixes)
        if not self.url.startswith(("http://", "https://")):
            raise Refused("url is not a link of Millrace")

    def _work(self):
        return {"present": True} if self._present() else self._fetch()

    def _present(self):
        """Reports whether the file is there. A file with other bytes is Failed."""
        for path in (os.path.join(root, *self.parts) for root in self.paths):
            if os.path.isfile(path) and os.path.getsize(path) == self.size:
                with open(path, "rb") as file:
                    if self._read(file).hexdigest() == self.wanted:
                        return True
            if os.path.lexists(path):
                raise Failed(f"the server has another file with this name in its folder {self.folder}")
        return False

    def _fetch(self):
        target = os.path.join(self.paths[0], *self.parts)
        folder = os.path.dirname(target)
        os.makedirs(folder, exist_ok=True)
        part = os.path.join(folder, self.part)
        for other in glob.glob(os.path.join(glob.escape(folder), ".millrace-*.part")):
            if other != part and time.time() - os.path.getmtime(other) > FORGOTTEN:
                os.remove(other)
        try:
            # The bytes of a file that two requests write are the same, so neither needs to exclude the other.
            with open(os.open(part, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644), "r+b") as file:
                digest = self._read(file)
                self.lacks = max(0, self.size - self.done + self.reserve - shutil.disk_usage(folder).free)
                if self.lacks:
                    raise Failed(f"the disk of the server has too little space for {self.size} bytes")
                self._receive(file, digest)
                file.flush()
                os.fsync(file.fileno())
            if self.done != self.size or digest.hexdigest() != self.wanted:
                raise Failed("what Millrace sent does not have the hash of the weight")
            _rename(part, target)
        except Broken:
            raise
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise
        return {"sent": self.sent}

    def _receive(self, file, digest):
        """Appends the rest of the file, over as many connections as that takes."""
        pauses = iter(PAUSES)
        while self.done < self.size:
            before = self.done
            for chunk in self._chunks():
                file.write(chunk)
                self.sent += len(chunk)
                self._add(chunk, digest)
            if self.done > before:
                pauses = iter(PAUSES)
                continue
            if (pause := next(pauses, None)) is None or self.stopped:
                raise Broken("the server has no connection to Millrace")
            time.sleep(pause)

    def _chunks(self):
        """Yields the bytes after those that are there, as long as the connection lasts."""
        request = urllib.request.Request(self.url, headers={"Range": f"bytes={self.done}-"} if self.done else {})
        try:
            with urllib.request.urlopen(request, timeout=SILENCE) as answer:
                if self.done and answer.status != 206:
                    raise Failed("Millrace does not send the rest of the file")
                while self.done < self.size and (chunk := answer.read(min(CHUNK, self.size - self.done))):
                    yield chunk
        except urllib.error.HTTPError as refused:
            if refused.code < 500:
                raise Failed(f"Millrace answers the request for the file with status {refused.code}") from None
        except (OSError, http.client.HTTPException):
            return


def _rename(part, target):
    """Gives a file its name, unless another file has it."""
    try:
        os.link(part, target)
    except OSError:
        if os.path.lexists(target):
            raise Failed("another file got its name on the server while it was fetched") from None
        os.rename(part, target)  # the file system has no links
    else:
        os.remove(part)

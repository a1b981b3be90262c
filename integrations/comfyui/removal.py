"""Removes files of prompts from the output and temp folders, after Millrace has stored them."""

import os
import re

# Prompts of Millrace save their files below FOLDER/<prompt id> of the output folder.
FOLDER = "millrace"

# The most files of one request.
MOST = 1000

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Refused(ValueError):
    """A request that names anything but files of one prompt of Millrace."""


def remove(request, roots, entry):
    """Removes the files that a request names, and the folders that it empties. Returns the number of removed files.

    roots are the paths of the folders "output" and "temp"; entry is what the history has of the prompt, or None. If one name is
    refused, no file is removed. A file that is not there is not counted.
    """
    prompt = request.get("prompt_id") if isinstance(request, dict) else None
    files = request.get("files") if isinstance(request, dict) else None
    if not isinstance(prompt, str) or not _ID.fullmatch(prompt):
        raise Refused("prompt_id is not the id of a prompt of Millrace")
    if not isinstance(files, list) or len(files) > MOST:
        raise Refused(f"files is not a list of at most {MOST} files")
    paths = [_path(file, prompt, roots, entry) for file in files]
    removed = 0
    for path in paths:
        if os.path.isfile(path):
            os.remove(path)
            removed += 1
    own = os.path.join(os.path.realpath(roots["output"]), FOLDER, prompt)
    for folder in sorted({os.path.dirname(path) for path in paths}, key=len, reverse=True):
        _prune(folder, own)
    return removed


def _path(file, prompt, roots, entry):
    """Returns the path of a file of the prompt."""
    if not isinstance(file, dict):
        raise Refused("a file is not an object")
    name, sub, folder = file.get("filename"), file.get("subfolder", ""), file.get("type")
    if not isinstance(name, str) or not isinstance(sub, str) or not isinstance(folder, str) or folder not in roots:
        raise Refused("a file is not one of the output or temp folder")
    parts = sub.split("/") if sub else []
    if any(part in ("", ".", "..") or "/" in part or "\\" in part or "\0" in part for part in [*parts, name]):
        raise Refused("a name leads out of its folder")
    if folder == "output" and parts[:2] != [FOLDER, prompt]:
        raise Refused("a file of the output folder is not in the folder of the prompt")
    if folder == "temp" and not _listed(entry, prompt, (name, sub)):
        raise Refused("a file of the temp folder was not made by the prompt")
    root = os.path.realpath(roots[folder])
    path = os.path.join(root, *parts, name)
    if os.path.realpath(path) != path:
        raise Refused("a name leads out of its folder")
    return path


def _listed(entry, prompt, wanted):
    """Reports whether Millrace sent the prompt, and its outputs name the file of the temp folder."""
    if not isinstance(entry, dict) or entry["prompt"][3].get("client_id") != prompt:
        return False
    for output in entry.get("outputs", {}).values():
        for files in output.values():
            for file in files if isinstance(files, list) else ():
                if not isinstance(file, dict) or file.get("type") != "temp":
                    continue
                if (file.get("filename"), (file.get("subfolder") or "").replace("\\", "/")) == wanted:
                    return True
    return False


def _prune(folder, own):
    """Removes a folder and those above it, up to the prompt's own folder, as far as they are empty."""
    while folder == own or folder.startswith(own + os.sep):
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)

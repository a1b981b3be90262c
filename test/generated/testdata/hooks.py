"""What a run of schemathesis asserts beside its own checks, and what it changes in generated requests.

A request that the document allows may be refused only for a reason that the document names: an operation lists the
codes of such refusals in x-refusals, because they depend on more than the request, or no schema can say them.
MILLRACE_KNOWN is a file of what exists. Its "values" are pairs: the beginning of a path, and values of its parameters or
members of its body. Its "requests" are whole requests that succeed, by operation. Its "kept" are ids and names that no
request may take away, or the requests behind it would find nothing. MILLRACE_TALLY is the file that is written at the end: how often each operation was answered with each status, and what was refused.
"""

import ast
import atexit
import base64
import json
import os
import re
import threading
import uuid
import zlib

import schemathesis

parsing = threading.RLock()
parse = ast.parse


def parse_alone(*args, **kwargs):
    """Parses Python source in one thread at a time.

    Hypothesis parses source while it describes strategies. CPython before 3.11.8 and 3.12.2 counts the depth of all
    threads that parse together, and then fails one of them (python/cpython#106905).
    """
    with parsing:
        return parse(*args, **kwargs)


ast.parse = parse_alone

lock = threading.Lock()
allowed = {}  # how many requests of each operation were allowed by the document
answers = {}
refused = {}
replaced = set()  # ids of the requests that were replaced by one that succeeds

with open(os.environ["MILLRACE_KNOWN"], encoding="utf-8") as file:
    content = json.load(file)
known, successful, kept = content["values"], content["requests"], set(content["kept"])


def values_of(operation):
    """The values of path parameters that lead to something; none where it would be deleted."""
    if operation.method.upper() == "DELETE" and operation.path.endswith("}"):
        return {}
    return next((values for prefix, values in known if "{" in prefix and operation.path.startswith(prefix)), {})


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Replaces three in four generated values by those of something that exists."""
    values = values_of(context.operation)
    for name, value in list((path_parameters or {}).items()):
        if name in values and zlib.crc32(repr(value).encode()) % 4:
            path_parameters[name] = values[name]
    return path_parameters


def spare(case):
    """Keeps a request from taking away what others ask for: schemathesis knows its id from an answer.

    What need not change stays untouched: schemathesis takes a request that was changed for an allowed one.
    """
    removes = case.method.upper() == "DELETE" or "/move/" in case.operation.path
    parameters = case.path_parameters or {}
    if removes and not case.operation.path.endswith("/tags") and any(value in kept for value in parameters.values()):
        case.path_parameters = {name: str(uuid.uuid4()) if value in kept else value for name, value in parameters.items()}
    if case.operation.label == "POST /history" and isinstance(case.body, dict):
        if case.body.get("clear") is True:
            case.body = {**case.body, "clear": False}
        if isinstance(case.body.get("delete"), list) and any(one in kept for one in case.body["delete"] if isinstance(one, str)):
            case.body = {**case.body, "delete": [one for one in case.body["delete"] if not isinstance(one, str) or one not in kept]}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Makes the first request of an operation that the document allows one that succeeds.

    Of the others, three in four lead to something that exists, however few an operation gets.
    """
    spare(case)
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    label = case.operation.label
    with lock:
        number = allowed.get(label, 0)
        allowed[label] = number + 1
    values = values_of(case.operation)
    request = successful.get(label, {}) if number == 0 else {}
    if request:
        replaced.add(case.id)
    if number % 4 != 3:
        values = {name: value for name, value in values.items() if name in (case.path_parameters or {})}
        case.path_parameters = {**(case.path_parameters or {}), **values, **request.get("path", {})}
    if "query" in request:
        case.query = request["query"]
    if "json" in request:
        case.media_type, case.body = "application/json", request["json"]
    if "form" in request:
        files = {name: base64.b64decode(data) for name, data in request.get("files", {}).items()}
        case.media_type, case.body = "multipart/form-data", {**request["form"], **files}


def nowhere(value):
    """Lets addresses lead to a host that does not exist, so that the service asks nobody."""
    if isinstance(value, str):
        return re.sub(r"^(https?://)[^/?#]*", r"\1generated.invalid", value, flags=re.IGNORECASE)
    if isinstance(value, list):
        return [nowhere(item) for item in value]
    if isinstance(value, dict):
        return {name: nowhere(item) for name, item in value.items()}
    return value


@schemathesis.hook
def map_query(context, query):
    """See nowhere."""
    return nowhere(query)


@schemathesis.hook
def map_body(context, body):
    """See nowhere. Members that hold ids hold those of something that exists."""
    values = next((values for prefix, values in known if context.operation.path == prefix), {})
    if isinstance(body, dict):
        body = {name: values.get(name) if name in values and item else item for name, item in body.items()}
    return nowhere(body)


def code_of(response):
    """The code and the message of a refusal, in the words of whichever surface refused."""
    try:
        body = response.json()
    except ValueError:
        return "text", response.text
    error = body.get("error")
    if isinstance(error, dict):
        return error.get("code") or error.get("type"), error.get("message", "")
    return body.get("code") or body.get("error_type") or "detail", str(body.get("message") or body.get("detail"))


def explained(operation, code, message):
    """Whether an operation names a refusal. A code of several refusals is named with how its messages begin."""
    texts = operation.definition.raw.get("x-refusals", {}).get(code)
    if code not in ("invalid_request", "invalid_input", "invalid_body"):
        return texts is not None
    return any(message.startswith(text) for text in ([texts] if isinstance(texts, str) else texts or []))


@schemathesis.check
def refused_as_documented(ctx, response, case):
    """Fails when a request that the document allows is refused for a reason that it does not name."""
    label, status = case.operation.label, response.status_code
    positive = case.id in replaced or (case.meta is not None and case.meta.generation.mode.is_positive)
    with lock:
        counts = answers.setdefault(label, {})
        key = f"{'allowed' if positive else 'not allowed'} {status}"
        counts[key] = counts.get(key, 0) + 1
    if not positive or status not in (400, 405, 406, 411, 413, 414, 415, 422):
        return  # what else there is depends on who asks, on what there is and on what goes on
    code, message = code_of(response)
    if explained(case.operation, code, message):
        return
    with lock:
        refused.setdefault(f"{label} {status} {code}: {message[:200]}", case.as_curl_command()[:600])
    raise AssertionError(f"{label}: a request that the document allows is refused: {status} {code} {message}")


@atexit.register
def write():
    """Writes the tally."""
    with open(os.environ["MILLRACE_TALLY"], "w", encoding="utf-8") as out:
        json.dump({"answers": answers, "refused": refused}, out, indent=1)

"""The routes with which Millrace removes files that it has stored, and brings and removes model files."""

import asyncio
import json
import threading

import folder_paths
from aiohttp import web
from server import PromptServer

from . import fetching, removal

# The largest body of a request, in bytes.
LARGEST = 1 << 20

# The time between two reports of the progress, in seconds.
REPORT = 0.5


def _refused(status, text):
    return web.json_response({"error": text}, status=status)


async def _body(request):
    """Returns the JSON of a request, or the answer that refuses it."""
    if (request.content_length or LARGEST + 1) > LARGEST:
        return None, _refused(413, f"the body is longer than {LARGEST} bytes")
    try:
        return json.loads(await request.read()), None
    except (ValueError, RecursionError):
        return None, _refused(400, "the body is not JSON")


@PromptServer.instance.routes.post("/lossless/remove")
async def remove(request):
    body, refusal = await _body(request)
    if refusal is not None:
        return refusal
    prompt = body.get("prompt_id") if isinstance(body, dict) else None
    entry = PromptServer.instance.prompt_queue.get_history(prompt_id=prompt).get(prompt) if isinstance(prompt, str) else None
    roots = {"output": folder_paths.get_output_directory(), "temp": folder_paths.get_temp_directory()}
    try:
        return web.json_response({"removed": await asyncio.to_thread(removal.remove, body, roots, entry)})
    except removal.Refused as refused:
        return _refused(400, str(refused))
    except OSError as failed:
        return _refused(500, f"a file could not be removed: {failed.strerror}")


@PromptServer.instance.routes.post("/lossless/fetch")
async def fetch(request):
    return await _work(request, fetching.Fetch)


@PromptServer.instance.routes.post("/lossless/evict")
async def evict(request):
    return await _work(request, fetching.Eviction)


async def _work(request, kind):
    """Answers with a line for each report on the work, and its result in the last line."""
    body, refusal = await _body(request)
    if refusal is not None:
        return refusal
    try:
        work = kind(body, folder_paths.folder_names_and_paths, folder_paths.supported_pt_extensions)
    except fetching.Refused as refused:
        return _refused(400, str(refused))
    if work.wanted is None:
        return _refused(422, "the server can only check a sha256")
    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson", "X-Accel-Buffering": "no"})
    await response.prepare(request)
    try:
        threading.Thread(target=work.run, daemon=True).start()
        while work.result is None:
            await response.write(json.dumps({"done": work.done}).encode() + b"\n")
            await asyncio.sleep(REPORT)
        await response.write(json.dumps(work.result).encode() + b"\n")
    except ConnectionError:
        pass  # nobody waits for the file any more
    finally:
        work.stopped = True
    return response

"""The route with which Millrace removes files that it has stored."""

import asyncio
import json

import folder_paths
from aiohttp import web
from server import PromptServer

from . import removal

# The largest body of a request, in bytes.
LARGEST = 1 << 20


@PromptServer.instance.routes.post("/lossless/remove")
async def remove(request):
    if (request.content_length or LARGEST + 1) > LARGEST:
        return web.json_response({"error": f"the body is longer than {LARGEST} bytes"}, status=413)
    try:
        body = json.loads(await request.read())
    except (ValueError, RecursionError):
        return web.json_response({"error": "the body is not JSON"}, status=400)
    prompt = body.get("prompt_id") if isinstance(body, dict) else None
    entry = PromptServer.instance.prompt_queue.get_history(prompt_id=prompt).get(prompt) if isinstance(prompt, str) else None
    roots = {"output": folder_paths.get_output_directory(), "temp": folder_paths.get_temp_directory()}
    try:
        return web.json_response({"removed": await asyncio.to_thread(removal.remove, body, roots, entry)})
    except removal.Refused as refused:
        return web.json_response({"error": str(refused)}, status=400)
    except OSError as failed:
        return web.json_response({"error": f"a file could not be removed: {failed.strerror}"}, status=500)

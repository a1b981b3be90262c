"""Drives a live service with published clients of ComfyUI, unchanged, and prints what came of it, as one JSON object.
Arguments: the address of the service, a picture, and the directory with the files of Open WebUI ("" = leave it out)."""

import asyncio
import json
import os
import sys
import types
import urllib.request
import warnings

base, picture, open_webui = sys.argv[1:]
report = {}


def graph(image):
    return {
        "1": {"class_type": "LoadImage", "inputs": {"image": image}, "_meta": {"title": "Load"}},
        "2": {"class_type": "ImageInvert", "inputs": {"image": ["1", 0]}, "_meta": {"title": "Invert"}},
        "9": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": "clients"}, "_meta": {"title": "Save"}},
    }


async def comfy_api_client():
    """It asks for the start page first. Of its two ways to wait, the one over HTTP works: it waits for "success"."""
    from comfy_api_client import create_client

    async with create_client(base, start_state_tracker="http") as client:
        sent = await client.upload_image("photo.png", picture, subfolder="of a client")
        prompt = await client.submit_workflow(graph(f"{sent.subfolder}/{sent.name}"))
        result = await asyncio.wait_for(prompt.future, 240)
        queue = await client.get_queue()
        stats = await client.get_system_stats()
        return {
            "folder": sent.subfolder, "size": list(result.output_images[0].image.size),
            "listed": (await client.get_embeddings()) is not None, "done": prompt.prompt_id in await client.get_completed_prompts(), "queue": len(queue.running) + len(queue.pending),
            "os": bool(stats.system.os),
        }


def comfy_api_simplified():
    """It sends each upload to a folder of its own, names the file by the answer, and waits on the socket."""
    from comfy_api_simplified import ComfyApiWrapper, ComfyWorkflowWrapper

    api = ComfyApiWrapper(base + "/")
    sent = api.upload_image(picture)
    workflow = ComfyWorkflowWrapper(graph(""))
    workflow.set_node_param("Load", "image", f"{sent['subfolder']}/{sent['name']}")
    images = api.queue_and_wait_images(workflow, "Save")
    return {"folder": sent["subfolder"], "images": [content[:4].decode("latin1") for content in images.values()]}


async def open_webui_images():
    """The module of Open WebUI, with the settings that its own environment would give."""
    env = types.ModuleType("open_webui.env")
    env.AIOHTTP_CLIENT_SESSION_SSL, env.AIOHTTP_CLIENT_TIMEOUT = True, 300
    env.AIOHTTP_POOL_CONNECTIONS, env.AIOHTTP_POOL_CONNECTIONS_PER_HOST, env.AIOHTTP_POOL_DNS_TTL = 100, 30, 300
    sys.path.insert(0, open_webui)
    sys.modules["open_webui.env"] = env
    from open_webui.utils import session_pool
    from open_webui.utils.images import comfyui

    workflow = {
        "1": {"class_type": "EmptyImage", "inputs": {"width": 8, "height": 8, "batch_size": 1, "color": 255}},
        "9": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "clients"}},
    }
    nodes = [comfyui.ComfyUINodeInput(type=name, node_ids=["1"], key=key) for name, key in
             (("width", "width"), ("height", "height"), ("n", "batch_size"))]
    form = comfyui.ComfyUICreateImageForm(
        workflow=comfyui.ComfyUIWorkflow(workflow=json.dumps(workflow), nodes=nodes), prompt="a mill", width=32, height=16, n=2)
    made = await comfyui.comfyui_create_image("", form, "open-webui", base, "unused")
    first = []
    for image in made["data"]:
        with urllib.request.urlopen(image["url"]) as answer:
            first.append(answer.read()[:4].decode("latin1"))

    sent = await comfyui.comfyui_upload_image(("image", ("edit.png", open(picture, "rb").read(), "image/png")), base, "unused")
    edit = comfyui.ComfyUIEditImageForm(
        workflow=comfyui.ComfyUIWorkflow(workflow=json.dumps(graph("")), nodes=[
            comfyui.ComfyUINodeInput(type="image", node_ids=["1"], key="image")]), image=sent["name"], prompt="")
    edited = await comfyui.comfyui_edit_image("", edit, "open-webui", base, "unused")
    await session_pool.close_session()
    return {"images": first, "edited": len(edited["data"])}


def tuspy():
    """Sends half of a file, and the rest as another program would that finds the address of the upload."""
    from tusclient import client
    content = b"weights " * 40_000
    path = os.path.join(os.path.dirname(picture), "small.safetensors")
    with open(path, "wb") as file:
        file.write(content)
    uploads = client.TusClient(base + "/uploads")
    first = uploads.uploader(path, chunk_size=len(content) // 2, metadata={"filename": "small.safetensors", "tags": "models,loras"})
    first.upload_chunk()
    second = uploads.uploader(path, chunk_size=len(content), url=first.url)
    resumed_at = second.offset
    second.upload()
    with urllib.request.urlopen(base + "/api/assets/" + first.url.rsplit("/", 1)[1] + "/content") as answer:
        same = answer.read() == content
    return {"resumed": resumed_at == len(content) // 2, "same": same}


warnings.simplefilter("ignore")
report["tuspy"] = tuspy()
report["comfy-api-client"] = asyncio.run(comfy_api_client())
report["comfy-api-simplified"] = comfy_api_simplified()
if open_webui:
    report["open-webui"] = asyncio.run(open_webui_images())
print(json.dumps(report))

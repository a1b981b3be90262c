"""Drives a live service with the published Python SDK and prints what came of it, as one JSON object. The service and its
key come from COMFY_BASE_URL, COMFY_ROUTER_BASE_URL and COMFY_API_KEY."""

import asyncio
import json
import sys
import urllib.request
import uuid

from comfy_sdk import AsyncComfy, Comfy
from comfy_sdk.exceptions import ComfyError

picture = open(sys.argv[1], "rb").read()
client = Comfy()
report = {}


def graph(image):
    return {
        "1": {"class_type": "LoadImage", "inputs": {"image": image}},
        "2": {"class_type": "ImageInvert", "inputs": {"image": ["1", 0]}},
        "9": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": "python"}},
    }


def begins(data):
    return data[:4].decode("latin1")


def fetch(url):
    """Without any credential."""
    with urllib.request.urlopen(url) as answer:
        return begins(answer.read())


# Upload, and the same bytes under the same name again: one asset. The link to it needs no credential.
first = client.assets.from_bytes(picture, filename="photo.png", content_type="image/png")
first.commit()
again = client.assets.from_bytes(picture, filename="photo.png", content_type="image/png")
again.commit()
report["createdNew"] = [first.created_new, again.created_new]
report["sameAsset"] = first.id == again.id
report["assetLink"] = fetch(first.get_download_url().url)
report["rehydrated"] = client.assets.get(first.id).hash == first.hash

# Run; the outputs as bytes, in part, and by their links.
job = client.run(client.workflows.from_json(graph(first)), timeout=240)
report["status"] = job.status
output = job.get_outputs("9")[0]
report["output"] = begins(output.to_bytes())
report["part"] = begins(b"\x89" + output.to_bytes(range=(1, 3)))
report["outputLink"] = fetch(output.get_download_url().url)
report["graph"] = job.get_workflow().graph["1"]["inputs"]["image"]

# Follow a job by its events; submit with labels, and find it by them.
label = uuid.uuid4().hex
followed = client.submit(client.workflows.from_json(graph("photo.png")), metadata={"run": label, "client": "acme"})
report["events"] = []
for event in followed.events():
    report["events"].append(type(event).__name__ + (":" + event.status if hasattr(event, "status") else ""))
report["labels"] = client.jobs.get(followed.id).metadata == {"run": label, "client": "acme"}
summaries = list(client.list_jobs(metadata={"run": label, "client": "acme"}))
report["found"] = [s.id for s in summaries] == [followed.id]
report["times"] = summaries[0].create_time is not None and summaries[0].update_time >= summaries[0].create_time
report["listed"] = len(list(client.list_jobs(limit=1))) >= 2

# Cancel one that takes long.
long = {"0": {"class_type": "EmptyImage", "inputs": {"width": 4096, "height": 4096, "batch_size": 1, "color": 255}}}
for i in range(1, 41):
    long[str(i)] = {"class_type": "ImageBlur", "inputs": {"image": [str(i - 1), 0], "blur_radius": 31, "sigma": 10.0}}
long["99"] = {"class_type": "SaveImage", "inputs": {"images": ["40", 0], "filename_prefix": "long"}}
canceled = client.submit(client.workflows.from_json(long))
canceled.cancel()
report["canceled"] = canceled.wait(timeout=240).status

# Refusals have their classes.
refusals = report["refusals"] = {}


def refused(name, call):
    try:
        call()
    except ComfyError as error:
        refusals[name] = [type(error).__name__, error.code]


refused("graph", lambda: client.submit(client.workflows.from_json({"1": {"class_type": "Nothing", "inputs": {}}})))
refused("job", lambda: client.jobs.get(str(uuid.uuid4())))
refused("asset", lambda: client.assets.get(str(uuid.uuid4())))

# The model router: the catalog, a schema, a run, a queued request, one that is followed, bytes, and a refusal.
report["models"] = "sim/echo" in [m.id for m in client.models.list(limit=5)]
schema = client.models.schema("sim/echo")
report["schema"] = client.models.schema("sim/echo", etag=schema.etag).unchanged
report["ran"] = client.models.run("sim/echo", {"prompt": "hello"})["input"]
report["submitted"] = client.models.submit("sim/echo", {"prompt": "later"}).get(timeout=120)["input"]
updates = []
followed = client.models.subscribe("sim/echo", {"prompt": "watched"}, on_queue_update=lambda u: updates.append(u.status), timeout=120)
report["subscribed"], report["updates"] = followed["input"], updates[-1]
report["spoken"] = client.models.run("sim/speech", {"prompt": "a tone"}).content_type
try:
    client.models.run("sim/echo", {})
except Exception as error:  # the test reads its class
    report["rejected"] = type(error).__name__


async def asynchronously():
    async with AsyncComfy() as other:
        job = await other.submit(other.workflows.from_json(graph("photo.png")))
        await job.wait(timeout=240)
        return job.status


report["async"] = asyncio.run(asynchronously())
print(json.dumps(report))

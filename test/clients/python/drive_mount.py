"""Follows a call of a deployment with the published Python SDK, whose base URL is that of the deployment, and prints what came of it, as
one JSON object. The argument is the id of the job; base URL and key come from COMFY_BASE_URL and COMFY_API_KEY."""

import json
import sys

from comfy_sdk import Comfy

client = Comfy()
job = client.jobs.get(sys.argv[1])
job.wait(timeout=240)
output = job.get_outputs("picture")[0]
print(json.dumps({
    "status": job.status,
    "output": output.to_bytes()[:4].decode("latin1"),
    "link": output.get_download_url().url,
    "events": [type(event).__name__ for event in job.events()],
    "listed": [s.id for s in client.list_jobs()],
}))

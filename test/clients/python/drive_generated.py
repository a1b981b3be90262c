# Calls a deployment with the client that openapi-python-client made of its document: drive_generated.py ADDRESS KEY.
import json
import sys

from portrait import AuthenticatedClient
from portrait.api.default import call, get_job
from portrait.models import Call, Inputs

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
made = call.sync(client=client, body=Call(inputs=Inputs(width=40)))
done = get_job.sync(made.id, client=client, prefer="wait=30")
refused = call.sync(client=client, body=Call(inputs=Inputs(width=-1)))
print(json.dumps({
    "status": done.status,
    "output": done.outputs[0].node_id,
    "picture": client.get_httpx_client().get(done.outputs[0].url).content[:4].decode("latin-1"),
    "refused": [refused.error.code, refused.error.message],
}))

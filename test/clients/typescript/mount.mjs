// Follows a call of a deployment with the published TypeScript SDK, whose base URL is that of the deployment, and prints what came of it,
// as one JSON object. The argument is the id of the job; base URL and key come from COMFY_BASE_URL and COMFY_API_KEY.
import { Comfy } from "@comfyorg/sdk";

const client = new Comfy({ apiKey: process.env.COMFY_API_KEY });
const job = await client.jobs.get(process.argv[2]);
await job.wait(240_000);
const [output] = job.getOutputs("picture");
const events = [];
for await (const e of job.events()) {
  events.push(e.kind);
}
console.log(JSON.stringify({
  status: job.status, output: Buffer.from(await output.toBytes()).subarray(0, 4).toString("latin1"),
  link: (await output.getDownloadUrl()).url, events,
}));

// Calls a deployment with the types that openapi-typescript made of its document: call.js ADDRESS KEY.
import createClient from "openapi-fetch";
import type { paths } from "./portrait.js";

declare const process: { argv: string[] };

const [address, key] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };
const client = createClient<paths>({ baseUrl: address, headers });
const made = await client.POST("/jobs", { body: { inputs: { width: 40 } } });
const id = made.data!.id;
const done = await client.GET("/jobs/{id}", { params: { path: { id }, header: { Prefer: "wait=30" } } });
const output = done.data!.outputs[0]!;
const picture = new Uint8Array(await (await fetch(output.url, { headers })).arrayBuffer());
const refused = await client.POST("/jobs", { body: { inputs: { width: -1 } } });
// @ts-expect-error the width is a number
await client.POST("/jobs", { body: { inputs: { width: "wide" } } });
console.log(
  JSON.stringify({
    status: done.data!.status,
    output: output.node_id,
    picture: String.fromCharCode(...picture.slice(0, 4)),
    refused: [refused.error!.error.code, refused.error!.error.message],
  }),
);

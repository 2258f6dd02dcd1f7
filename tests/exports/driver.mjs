// Reads a line of JSON, answers a line of JSON: {"load": PATH}, {"calls": [...]} or {"many": [...]}; see runtimes.py.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

let module;
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let answer = "loaded";
  if (asked.load) module = await import(pathToFileURL(asked.load).href);
  else if (asked.many) answer = globalThis.many(module, ...asked.many);
  else answer = globalThis.answers(module, asked.calls);
  process.stdout.write(JSON.stringify(answer) + "\n");
}

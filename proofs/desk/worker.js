// Python in a worker: it loads once, and then has no network, so that no edited rule can send anything anywhere.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const base = new URL(".", import.meta.url).href;
const say = (words) => postMessage({ kind: "progress", words });
let inside;

async function start(wheel) {
  say("loading Python");
  const [pyodide, archive] = await Promise.all([
    loadPyodide({ indexURL: `${base}pyodide/` }),
    fetch(`${base}python.zip`).then((answer) => answer.arrayBuffer()),
  ]);
  say("loading Z3");
  await pyodide.loadPackage(`${base}pyodide/${wheel}`, { messageCallback: () => {}, checkIntegrity: false });
  pyodide.unpackArchive(archive, "zip", { extractDir: "/desk" });
  say("reading the models");
  for (const name of ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "WebTransport", "BroadcastChannel", "Worker",
    "indexedDB", "caches", "importScripts"])
    Object.defineProperty(self, name, { value: undefined, configurable: false });
  pyodide.runPython("import sys; sys.path.insert(0, '/desk')");
  inside = pyodide.pyimport("fencepost.proofs.desk.inside");
  postMessage({ kind: "ready", ...JSON.parse(inside.ready()) });
}

onmessage = async ({ data }) => {
  try {
    if (data.kind === "start") await start(data.wheel);
    else postMessage({ kind: "answer", ...JSON.parse(inside.answer(JSON.stringify(data), (text) => postMessage({ kind: "progress", ...JSON.parse(text) }))) });
  } catch (error) {
    postMessage({ kind: "failed", error: String(error && error.message || error).trim().split("\n").pop() });
  }
};

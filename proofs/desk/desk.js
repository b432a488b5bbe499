// The page: what is chosen and edited, what the worker answers, and the address that has both.
import { differing, editor } from "./editor.js";

const $ = (id) => document.getElementById(id), { add } = view;
const listed = await (await fetch("catalogue.json")).json();
const variants = new Map(listed.protocols.flatMap((p) => p.variants.map((v) => [`${p.name}/${v.name}`, v])));
const originals = new Map(), edits = new Map(); // texts by file
let name, file, question = null, worker = null, ready = false, busy = null, wanted = null, wrong = null, drawn = null;

const text = editor($("editor"), typed, prove);

// What is chosen

function chooseFrom(select, options, value) {
  select.replaceChildren();
  for (const [key, words] of options) add(select, "option", { value: key }, words);
  select.value = value;
}

async function original(path) {
  if (!originals.has(path)) {
    const answer = await fetch(`rules/${path}.txt`);
    originals.set(path, await answer.text());
  }
  return originals.get(path);
}

async function open(chosen, path) {
  const protocol = chosen.split("/")[0], of = listed.protocols.find((p) => p.name === protocol);
  name = chosen;
  chooseFrom($("protocol"), listed.protocols.map((p) => [p.name, p.name]), protocol);
  chooseFrom($("variant"), of.variants.map((v) => [v.name, v.name + (v.main ? "" : " ·")]), chosen.slice(protocol.length + 1));
  const one = variants.get(name);
  $("variant-says").textContent = `${of.says} ${one.says}${one.rule ? ` [${one.rule}]` : ""}`;
  chooseFrom($("file"), one.files.map((path) => [path, path]), one.files[0]);
  chooseFrom($("property"), one.asked.map((p) => [p.id, p.name + (p.kind === "sometimes" ? " (a witness)" : "")]), one.asked[0]?.id);
  clear();
  await openFile(one.files.includes(path) ? path : one.files[0]);
}

async function openFile(path) {
  file = path;
  $("file").value = path;
  const now = await original(path);
  text.open(edits.get(path) ?? now);
  const found = text.text().split("\n").findIndex((line) => new RegExp(`^class ${variants.get(name).class}\\b`).test(line));
  text.go(found < 0 ? 1 : found + 1);
  marks();
}

function typed(now) {
  if (now === originals.get(file)) edits.delete(file);
  else edits.set(file, now);
  wrong = null;
  marks();
  stale();
  address();
}

function marks() {
  const lines = {}, was = originals.get(file).split("\n"), now = text.text().split("\n");
  if (edits.has(file)) {
    const [from, , fresh] = differing(was, now);
    for (let line = from; line < from + Math.max(1, fresh.length); line++) lines[line + 1] = "changed";
  } else if (question && question.file === file) {
    const at = lineOf(question, now);
    if (at >= 0) lines[at + 1] = "hinted";
  }
  if (wrong && wrong.file === file && wrong.line) lines[wrong.line] = "wrong";
  queueMicrotask(() => text.mark(lines));
  $("back").disabled = !edits.size;
}

// Questions

function lineOf(asked, lines) {
  const from = asked.after ? lines.findIndex((line) => line.trim() === asked.after) : 0;
  return lines.findIndex((line, at) => at >= from && line.trim() === asked.line);
}

async function ask(asked) {
  question = asked;
  edits.clear();
  heading();
  await open(asked.name, asked.file);
  text.go(lineOf(asked, originals.get(asked.file).split("\n")) + 1);
  address();
}

function heading() {
  const asked = question;
  $("asks").textContent = asked ? `${asked.asks} Change one line and see.` : `${name}: change a rule and see.`;
  $("says").textContent = asked ? asked.says : "";
  $("rule").replaceChildren();
  if (asked) {
    add($("rule"), "span", {}, `Rule ${asked.rule}: ${asked.rule_says} `);
    view.button($("rule"), asked.instead ? "Change this line" : "Take this line out", change, { id: "change" });
  }
  $("questions").replaceChildren();
  for (const one of listed.questions)
    view.button($("questions"), one.asks, () => ask(one), { "aria-pressed": one === asked });
}

async function change() {
  if (file !== question.file) await openFile(question.file);
  const lines = text.text().split("\n"), at = lineOf(question, lines);
  if (at < 0) return;
  const space = lines[at].slice(0, lines[at].length - lines[at].trimStart().length);
  lines.splice(at, 1, ...(question.instead ? [space + question.instead] : []));
  text.replace(lines.join("\n"));
  text.go(at + 1);
  prove();
}

// The address: an edit is the lines in which a text differs, with a hash of what it was.

function hash(words) {
  let found = 0x811c9dc5;
  for (let at = 0; at < words.length; at++) found = Math.imul(found ^ words.charCodeAt(at), 0x01000193) >>> 0;
  return found.toString(36);
}
const encoded = (value) => btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))))
  .replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const decoded = (words) => JSON.parse(new TextDecoder().decode(
  Uint8Array.from(atob(words.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0))));

function address() {
  const parts = { at: name, file };
  if (question) parts.question = listed.questions.indexOf(question) + 1;
  if (edits.size) parts.edit = encoded([...edits].map(([path, now]) => {
    const was = originals.get(path), [from, to, lines] = differing(was.split("\n"), now.split("\n"));
    return [path, hash(was), from, to, lines];
  }));
  if (wanted) parts.do = wanted.do === "show" ? `show ${wanted.property}` : "prove";
  history.replaceState(null, "", `#${new URLSearchParams(parts)}`);
}

async function follow() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const first = listed.questions[0], chosen = parts.get("at");
  if (!variants.has(chosen)) {
    await ask(first);
    if (chosen) mistake({ error: `this link is of ${chosen.slice(0, 80)}, which this desk does not have` });
    return;
  }
  question = listed.questions[Number(parts.get("question")) - 1] ?? null;
  edits.clear();
  let why = "";
  try {
    for (const [path, of, from, to, lines] of parts.has("edit") ? decoded(parts.get("edit")) : []) {
      if (!variants.get(chosen).files.includes(path)) throw new Error(`${path} is no file of ${chosen}`);
      const was = await original(path);
      if (hash(was) !== of) throw new Error(`it changes another release of ${path}`);
      const all = was.split("\n");
      all.splice(from, to - from, ...lines.map(String));
      edits.set(path, all.join("\n"));
    }
  } catch (error) {
    edits.clear();
    why = `the edit of this link cannot be read: ${error.message}`;
  }
  name = chosen;
  heading();
  await open(chosen, parts.get("file"));
  if (edits.has(file)) text.go(differing(originals.get(file).split("\n"), edits.get(file).split("\n"))[0] + 1);
  if (why) return void mistake({ error: why });
  const todo = (parts.get("do") ?? "").split(" ");
  if (todo[0] === "prove") prove();
  if (todo[0] === "show" && variants.get(name).asked.some((p) => p.id === todo[1])) {
    $("property").value = todo[1];
    show();
  }
}

// The worker

function say(words, part) {
  $("state").textContent = words;
  $("progress").hidden = part === undefined;
  if (part === undefined) return;
  if (part === null) $("progress").removeAttribute("value");
  else $("progress").value = part;
}

function begin() {
  ready = false;
  // A worker of this page's own text has this page's policy, by which it reaches no other host.
  const source = `import ${JSON.stringify(new URL("worker.js", document.baseURI).href)}; postMessage({ kind: "there" });`;
  const place = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const mine = worker = new Worker(place, { type: "module" });
  const began = performance.now();
  worker.onerror = (event) => mine === worker && mistake({ error: `the worker ended: ${event.message ?? "it could not be loaded"}` });
  worker.onmessage = ({ data }) => {
    if (mine !== worker) return;
    if (data.kind === "there") worker.postMessage({ kind: "start", wheel: listed.z3 });
    else if (data.kind === "ready") {
      ready = true;
      $("foot").textContent = `Made by fencepost. Python ${data.python} and Z3 ${data.z3} in this page, ready after `
        + `${((performance.now() - began) / 1000).toFixed(1)} s. Nothing leaves the browser.`;
      document.documentElement.dataset.ready = Math.round(performance.now() - began);
      if (busy) worker.postMessage(busy);
      else say("ready");
    } else if (data.kind === "progress") {
      if (busy || !ready) say(data.words, data.of ? data.done / data.of : null);
      if (data.decided && busy) verdicts(data.decided, "so far");
    } else if (data.kind === "failed") {
      busy = null;
      running();
      mistake({ error: data.error });
    } else answered(data);
  };
}

function running() {
  $("stop").disabled = !busy;
  $("prove").disabled = $("show").disabled = Boolean(busy);
  document.documentElement.toggleAttribute("data-busy", Boolean(busy));
}

function run(request) {
  if (busy) return;
  clear();
  wanted = request;
  busy = { kind: "do", ...request, name, edits: Object.fromEntries(edits), began: performance.now() };
  running();
  address();
  say(ready ? "starting" : "loading Python", null);
  if (ready) worker.postMessage(busy);
}
function prove() { run({ do: "prove" }); }
function show() { run({ do: "show", property: $("property").value }); }

function stop() {
  worker.terminate();
  busy = null;
  wanted = null;
  running();
  begin();
  say("stopped, with nothing more decided; Python is loaded again");
  address();
}

function answered(data) {
  const took = ((performance.now() - busy.began) / 1000).toFixed(1), done = busy;
  busy = null;
  running();
  if (data.error) return mistake(data);
  if (done.do === "prove") {
    say(`${done.name}${Object.keys(done.edits).length ? ", edited" : ""}: ${data.steps} steps of the proof, in ${took} s`);
    verdicts(data.lines, "");
    $("attempts").hidden = !data.attempts.length;
    $("attempts").querySelector("pre").textContent = data.attempts.join("\n").trim();
  } else say(`${data.says}, in ${took} s`);
  document.documentElement.dataset.answer = JSON.stringify(data.verdicts ?? data.says);
  stories(data.stories);
}

function verdicts(lines, mark) {
  const box = $("verdicts");
  box.replaceChildren();
  const all = add(box, "ul", { class: mark && "old" });
  for (const pieces of lines) {
    // A line of the command is a name, padded, and what is said of it.
    const split = /^ {4}(\S.*?)(?: {2,}| $)(.*)$/s.exec(pieces[0][0]);
    const line = add(all, "li", { class: split ? "two" : "" });
    if (split) add(line, "span", {}, split[1]);
    const rest = add(line, "span");
    pieces.forEach(([words, colour], place) => add(rest, "span", { class: colour }, place ? words : split ? split[2] : words.trim()));
  }
}

function mistake(data) {
  $("mistake").textContent = data.error;
  say("");
  wrong = data.line ? data : null;
  if (wrong && wrong.file !== file && variants.get(name).files.includes(wrong.file)) openFile(wrong.file).then(() => text.go(wrong.line));
  else if (wrong) text.go(wrong.line);
  marks();
}

function clear() {
  for (const id of ["verdicts", "mistake", "asked", "run", "told"]) $(id).replaceChildren();
  $("story").hidden = $("attempts").hidden = true;
  wrong = drawn = null;
  delete document.documentElement.dataset.answer;
  if (!busy) say(ready ? "ready" : $("state").textContent);
}

function stale() {
  wanted = null;
  if ($("verdicts").firstChild || !$("story").hidden) clear();
}

// Runs, drawn as in every page of runs

function stories(all) {
  $("story").hidden = !all.length;
  if (all.length) tell(all, 0);
}

function tell(all, number) {
  const story = all[number], asked = $("asked");
  asked.replaceChildren();
  if (all.length > 1) {
    const choice = add(asked, "select", { "aria-label": "Which run" });
    all.forEach((one, place) => add(choice, "option", { value: place }, `${one.asked}, ${one.verdict}`));
    choice.value = number;
    choice.addEventListener("change", () => tell(all, Number(choice.value)));
  }
  const title = add(asked, "h2", {}, `${story.asked}: `);
  add(title, "span", { class: story.good ? "good" : "bad" }, story.verdict);
  add(asked, "p", {}, story.asked_says);
  for (const line of story.about) add(asked, "p", { class: "about" }, line);
  const mark = view.draw($("run"), story, story.broken_at, go);
  function go(steps) {
    const told = $("told"), at = Math.max(0, Math.min(steps, story.steps.length));
    told.replaceChildren();
    view.walk(told, at, story.steps.length, go);
    view.tellStep(told, story, at);
    if (story.properties.length) {
      add(told, "h3", {}, "What holds here");
      const lines = add(told, "ul");
      for (const one of story.properties) view.standing(add(lines, "li", { title: one.says }), one, at);
    }
    view.tellRules(told, story, at);
    view.list(told, "The state", story.states[at]);
    mark(at);
    drawn = { at, go, last: story.steps.length };
  }
  go(story.broken_at ?? story.steps.length);
}

$("run").addEventListener("keydown", (event) => {
  const to = drawn && view.led(event, drawn.at, drawn.last);
  if (to === undefined || to === null) return;
  event.preventDefault();
  drawn.go(to);
});
$("protocol").addEventListener("change", () => leave(`${$("protocol").value}/${
  listed.protocols.find((p) => p.name === $("protocol").value).variants[0].name}`));
$("variant").addEventListener("change", () => leave(`${$("protocol").value}/${$("variant").value}`));
$("file").addEventListener("change", () => openFile($("file").value).then(address));
$("prove").addEventListener("click", prove);
$("show").addEventListener("click", show);
$("stop").addEventListener("click", stop);
$("back").addEventListener("click", () => { edits.clear(); wanted = null; clear(); openFile(file).then(address); });
$("link").addEventListener("click", async () => {
  await navigator.clipboard.writeText(location.href).then(() => say("the link is copied"), () => say("the address above is the link"));
});
addEventListener("hashchange", follow);

async function leave(chosen) {
  question = null;
  wanted = null;
  edits.clear();
  name = chosen;
  heading();
  await open(chosen);
  address();
}

// From the second visit on, everything comes from the cache, which a first visit fills: so Python is loaded after it.
if ("serviceWorker" in navigator) {
  navigator.serviceWorker.register("offline.js").catch(() => {});
  const taken = new Promise((done) => navigator.serviceWorker.addEventListener("controllerchange", done, { once: true }));
  if (!navigator.serviceWorker.controller) await Promise.race([taken, new Promise((done) => setTimeout(done, 4000))]);
}
begin();
await follow();

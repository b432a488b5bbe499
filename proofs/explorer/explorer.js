"use strict";
(() => {
  const { add, button } = view;
  const asked = document.getElementById("asked"), news = document.getElementById("news");
  const next = document.getElementById("next"), run = document.getElementById("run");
  const told = document.getElementById("told");
  // Where one is; what the model says of it; what can be chosen beside; the runs and distances found there.
  let place, path = [], at = 0, loop = null, story = null, facts = null, found = null, far = null;
  let asking = 0, mark = () => {};
  const FEW = 8;
  const open = { cannot: false, lemmas: false, bounds: false };

  // ---- the server ----
  async function ask(what, body) {
    const sent = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body) };
    const answer = await fetch(what, sent).catch(() => null);
    if (answer === null) throw new Error("the server does not answer; has fencepost explorer been ended?");
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error);
    return said;
  }
  const here = () => ({ ...place, path: path.join(";"), step: at, loop });

  // ---- the address, which names all of this ----
  const KEPT = { "%2F": "/", "%3A": ":", "%3B": ";", "%2C": ",", "%3D": "=", "%28": "(", "%29": ")" };
  const plain = (text) => encodeURIComponent(text).replace(/%(2F|3A|3B|2C|3D|28|29)/g, (sign) => KEPT[sign]);
  function fragment() {
    const bounds = Object.entries(place.bounds).map(([name, size]) => `${name}=${size}`).join(",");
    const parts = { at: place.name, without: place.without ? place.without.join(" ") : "", bounds, from: place.since ?? "",
      path: path.join(";"), step: at === path.length ? "" : String(at), loop: loop === null ? "" : String(loop) };
    return "#" + Object.entries(parts).filter(([, value]) => value).map(([key, value]) => `${key}=${plain(String(value))}`).join("&");
  }
  function read(hash) {
    const parts = Object.fromEntries(hash.slice(1).split("&").map((part) => {
      const [key, ...value] = part.split("=");
      try { return [key, decodeURIComponent(value.join("="))]; } catch { return [key, ""]; }
    }));
    const number = (text) => (/^\d{1,6}$/.test(text ?? "") ? Number(text) : null);
    const [rule, ...name] = (parts.without ?? "").split(" ");
    const bounds = (parts.bounds ?? "").split(",").map((one) => one.split("=")).filter(([, size]) => number(size) !== null);
    return { name: parts.at, without: rule ? [rule, name.join(" ")] : null, step: number(parts.step),
      bounds: Object.fromEntries(bounds.map(([bound, size]) => [bound, Number(size)])), loop: number(parts.loop),
      since: number(parts.from), path: (parts.path ?? "").split(";").filter((step) => step) };
  }

  // ---- going somewhere ----
  // Asks what is there, and shows it when no later question was asked meanwhile.
  async function show(keepFocus) {
    const mine = ++asking;
    let said;
    try { said = await ask("view", here()); } catch (error) { return tell(error.message, "bad"); }
    if (mine !== asking) return;
    story = said;
    [path, at, loop] = [said.path, said.at, said.loop];
    if (said.refused) tell(`This path does not fit the model: ${said.refused}`, "bad");
    if (location.hash !== fragment()) history.replaceState(null, "", fragment());
    const focused = keepFocus && next.contains(document.activeElement);
    drawRun();
    tellNext();
    tellHere();
    if (focused) next.querySelector(".steps button")?.focus({ preventScroll: true });
  }
  function drawRun() {
    mark = view.draw(run, story, firstBroken(), walk);
    mark(at);
  }
  const firstBroken = () => Math.min(...story.properties
    .filter((one) => one.broken_at !== null && one.role !== "witness").map((one) => one.broken_at));
  function walk(to) {
    at = Math.max(0, Math.min(to, path.length));
    far = null;
    return show(true);
  }
  function lead(steps, to, looped) {
    [path, at, loop, far] = [steps, to, looped, null];
    history.pushState(null, "", fragment());
    return show(true);
  }
  function choose(step) {
    const now = story.at;
    if (path[now] === step) return walk(now + 1);
    quiet();
    return lead([...path.slice(0, now), step], now + 1, null);
  }
  function undo() {
    if (at > 0) lead(path.slice(0, at - 1), at - 1, null);
  }
  async function move(to) {
    const there = { name: to.name, without: to.without, bounds: to.bounds, since: to.since ?? null };
    [place, path, at, loop, far, found] = [there, [], 0, null, null, null];
    try { facts = await ask("about", here()); } catch (error) {
      tell(error.message, "bad");
      if (facts === null) place = null;
      return false;
    }
    place = { name: facts.name, without: facts.without, bounds: facts.changed, since: facts.since };
    tellPlace();
    return true;
  }
  async function follow() {
    if (place && location.hash === fragment()) return;
    const to = read(location.hash);
    quiet();
    const start = to.name ? to : { ...(await first()), path: [], step: null, loop: null };
    let there = (place && key(place) === key(start)) || await move(start);
    const refused = there ? "" : news.textContent;
    if (!there) there = await move({ ...(await first()) });
    if (!there) return;
    if (refused) tell(refused, "bad");
    [path, at, loop] = refused ? [[], 0, null] : [start.path, start.step ?? start.path.length, start.loop];
    await show(false);
    await lookForEdits();
  }

  // ---- edits of the model's files: the server loads it again, or says why it cannot ----
  const EDITED_MS = 1000;
  let edition = null, complaint = "", looking = false;
  async function lookForEdits() {
    if (looking) return;
    looking = true;
    const said = document.hidden ? null : await ask("edition").catch(() => null);
    if (said && facts) await tellEdits(said);
    setTimeout(() => { looking = false; lookForEdits(); }, EDITED_MS);
  }
  async function tellEdits(said) {
    const was = edition, stale = said.stale.join(", ");
    const wrong = stale ? `${stale} changed since the explorer began. Start it again: its address stays the same.`
      : said.refused && `What was edited cannot be loaded, and the model before stays: ${said.refused}`;
    edition = said.edition;
    const files = said.edited.join(", ");
    if (was !== null && was !== said.edition) await again(files ? `${files} was edited` : "The explorer was started again");
    else if (wrong && wrong !== complaint) tell(wrong, "bad");
    complaint = wrong;
  }
  // The same run in the edited model, as far as its steps are still possible.
  async function again(why) {
    const [steps, to, looped, before] = [path, at, loop, place];
    search = null;
    if (!(await move(place))) {
      [place, path, at, loop] = [before, steps, to, looped];
      return tell(`${why}, and the model that was loaded has no such place: ${news.textContent}`, "bad");
    }
    [path, at, loop] = [steps, to, looped];
    await show(true);
    const loaded = `${why}, and the model is loaded again.`;
    if (story.refused) tell(`${loaded} This path does not fit it any more: ${story.refused}`, "bad");
    else tell(loaded);
  }
  const key = (to) => JSON.stringify([to.name, to.without, Object.entries(to.bounds).sort(), to.since ?? null]);
  async function first() {
    const said = await ask("start");
    return { name: said.name, without: said.without, bounds: said.bounds };
  }

  // ---- what is said in one line, and what is looked for ----
  function quiet() { news.replaceChildren(); }
  function tell(words, tone) {
    quiet();
    add(news, "p", { class: tone || "" }, words);
  }
  let search = null;
  async function look(words, wanted) {
    const mine = (search = {});
    tell(`${words} …`);
    const how = add(news, "p", { class: "ghost" });
    try {
      let said = await ask("search", { at: here(), ...wanted });
      const number = said.search;
      button(news, "give up", () => { search = null; ask(`search/${number}/give-up`, {}); tell("The search was given up."); });
      while (said.running && search === mine) {
        how.textContent = said.progress;
        await new Promise((later) => setTimeout(later, 150));
        said = await ask(`search/${number}`);
      }
      if (search !== mine) return;
      if (said.error) return tell(said.error, "bad");
      await answered(said.answer, wanted);
    } catch (error) { if (search === mine) tell(error.message, "bad"); }
  }
  async function answered(answer, wanted) {
    if (answer.far) far = answer.far;
    if (answer.path !== undefined) {
      const known = wanted.what === "another" ? [...wanted.known, answer.path] : [answer.path];
      if (answer.place && key(answer.place) !== key(place)) await move(answer.place);
      const steps = answer.path.split(";").filter((step) => step);
      await lead(steps, steps.length, answer.loop ?? null);
      found = { property: answer.property, known };
    } else if (answer.far) tellHere();
    tell(answer.says);
    if (found && answer.path !== undefined && loop === null)
      button(news, "another, different one", () => look("Looking for a run of other steps",
        { what: "another", property: found.property, known: found.known }), { class: "ask" });
  }

  // ---- the head: variant, rule, bounds ----
  function tellPlace() {
    asked.replaceChildren();
    const row = add(asked, "div", { class: "choose" });
    choice(row, "Variant", "variant", facts.variants.map((v) => [v.name, v.name, v.says]), facts.name, (name) =>
      lookAround({ name, without: null, bounds: {} }));
    if (facts.wrong.length) {
      const now = facts.without ? facts.without.join(" ") : "";
      choice(row, "A rule got wrong", "wrong", [["", "none"], ...facts.wrong.map((m) => [`${m.rule} ${m.name}`,
        `${m.rule} ${m.name}`, m.says, `rule ${m.rule}`])], now, (named) => {
        const [rule, ...name] = named.split(" ");
        lookAround({ ...place, without: rule ? [rule, name.join(" ")] : null });
      });
    }
    const title = add(asked, "p", { class: "of" }, facts.says + (facts.rule ? ` [${facts.rule}]` : ""));
    if (facts.wrong_already) add(title, "span", {}, ` · this variant has rule ${facts.wrong_already}`);
    const wrong = facts.without && facts.wrong.find((m) => m.rule === facts.without[0] && m.name === facts.without[1]);
    if (wrong) add(asked, "p", { class: "bad", id: "rule" }, `Got wrong (${wrong.name}): ${wrong.rule}, ${wrong.says}`);
    if (facts.begins) {
      const begins = add(asked, "p", { class: "bad", id: "begins" }, `${facts.begins} `);
      button(begins, "begin as the protocol does", () => lookAround({ ...place, since: null }), { class: "ask" });
    }
    tellBounds(add(asked, "div"));
    document.title = `${facts.name}: fencepost explorer`;
  }
  function choice(to, label, id, options, now, chosen) {
    add(to, "label", { for: id }, label);
    const typed = options.length > FEW && add(to, "input", { type: "search", placeholder: `find in ${options.length}`,
      id: `find-${id}`, "aria-label": `${label}: words to find` });
    const one = add(to, "select", { id });
    // Those that have the typed words, in the groups of their first word; what is chosen stays.
    function fill(words) {
      const groups = new Map();
      one.replaceChildren();
      for (const [value, name, says, group] of options) {
        if (value !== now && !words.every((word) => `${name} ${says ?? ""}`.toLowerCase().includes(word))) continue;
        if (group && !groups.has(group)) groups.set(group, add(one, "optgroup", { label: group }));
        add(groups.get(group) ?? one, "option", { value, title: says ?? "" }, name);
      }
      one.value = now;
    }
    fill([]);
    if (typed) typed.addEventListener("input", () => fill(typed.value.toLowerCase().split(/\s+/).filter(Boolean)));
    one.addEventListener("change", () => chosen(one.value));
  }
  async function lookAround(to) {
    quiet();
    if (!(await move(to))) return;
    history.pushState(null, "", fragment());
    await show(false);
    if (place.without) look("Looking for the shortest run that breaks any promise", { what: "shortest" });
  }
  function tellBounds(to) {
    const sizes = facts.bounds.filter((bound) => bound.size).map((bound) => `${bound.name} ${bound.size}`);
    const more = folded(to, "bounds", `Within ${sizes.join(", ") || "no bounds"}`, { class: "bounds" });
    const all = add(more, "div"), inputs = new Map();
    for (const bound of facts.bounds) {
      add(all, "label", { for: `bound-${bound.name}` }, bound.name);
      const input = add(all, "input", { id: `bound-${bound.name}`, type: "number", min: 0, max: 4096 });
      input.value = bound.size;
      inputs.set(bound, input);
      add(all, "span", { class: "about" }, bound.says);
    }
    button(more, "use these bounds", async () => {
      const changed = [...inputs].filter(([bound, input]) => Number(input.value) !== bound.least);
      const [steps, before] = [path, place];
      const bounds = Object.fromEntries(changed.map(([bound, input]) => [bound.name, Number(input.value)]));
      quiet();
      if (!(await move({ ...place, bounds }))) { place = before; path = steps; return; }
      lead(steps, steps.length, null);
    });
    if (facts.left_out.length) {
      const left = folded(to, "left", `What the model does not have, so that nothing is said of it (${facts.left_out.length})`,
        { class: "left-out" });
      const lines = add(left, "ul");
      for (const line of facts.left_out) add(lines, "li", {}, line);
    }
  }
  function folded(to, name, words, attributes) {
    const more = add(to, "details", attributes);
    add(more, "summary", {}, words);
    more.open = Boolean(open[name]);
    more.addEventListener("toggle", () => { open[name] = more.open; });
    return more;
  }

  // ---- the steps that can be taken, and those that cannot ----
  function tellNext() {
    next.replaceChildren();
    const bounded = story.impossible.some((one) => one.reasons.some((reason) => reason.bound));
    const over = `Nothing more can happen${bounded ? " within these bounds" : ""}`;
    add(next, "h2", {}, story.possible.length ? "What can happen next" : over);
    for (const one of story.possible) {
      add(next, "h3", { class: one.dangers.length ? "bad" : "" },
        one.action + (one.dangers.length ? ` (${one.dangers.join(", ")})` : ""));
      if (one.says) add(next, "p", {}, one.says);
      const steps = add(next, "div", { class: "steps" });
      for (const step of one.steps) {
        const taken = button(steps, step.words || one.action, () => choose(step.step),
          { title: step.changes.join("\n"), "data-step": step.step, "aria-label": `${one.action} ${step.words}` });
        if (step.step === path[at]) taken.classList.add("chosen");
        if (!step.breaks.length) continue;
        taken.classList.add("bad");
        add(taken, "small", { class: "bad" }, `breaks ${step.breaks.join(", ")}`);
      }
      if (one.more) add(next, "p", {}, `and ${one.more} more`);
    }
    const cannot = folded(next, "cannot", `What cannot, and why (${story.impossible.length} actions)`, { id: "cannot" });
    for (const one of story.impossible) {
      add(cannot, "h3", {}, one.action);
      const why = add(cannot, "ul", { class: "why" });
      for (const reason of one.reasons) tellReason(add(why, "li"), reason);
    }
  }
  function tellReason(line, reason) {
    if (reason.bound) add(line, "span", { class: "beyond" }, `beyond the bounds, ${reason.says}`);
    else {
      add(line, "span", {}, "needs ");
      add(line, "code", {}, reason.says);
      if (reason.rule) add(line, "span", {}, ` [${reason.rule}] ${reason.rule_says}`);
    }
    const choices = [...reason.choices.filter((one) => one), ...(reason.more ? [`and ${reason.more} more`] : [])];
    if (choices.length) add(line, "div", { class: "soft" }, choices.join("; "));
  }

  // ---- where one stands ----
  function tellHere() {
    told.replaceChildren();
    const buttons = view.walk(told, at, path.length, walk);
    button(buttons, "undo", undo, { id: "undo" }).disabled = at === 0;
    view.tellStep(told, story, at);
    const held = story.properties.filter((one) => !["lemma", "consequence"].includes(one.role));
    const title = add(told, "div", { class: "title" });
    add(title, "h3", {}, "What holds here");
    if (held.some((one) => ["promise", "step", "refinement"].includes(one.role)))
      button(title, "how far is it from breaking?", () => look("Looking at what can follow", {
        what: "far", at: { ...here(), path: path.slice(0, at).join(";"), loop: null } }), { class: "ask", id: "far" });
    tellStandings(told, held);
    const lemmas = story.properties.filter((one) => !held.includes(one));
    if (lemmas.length) {
      const failing = lemmas.filter((one) => !one.holds[at]).length;
      tellStandings(folded(told, "lemmas", `${lemmas.length} ${lemmas.length === 1 ? "lemma" : "lemmas"}`
        + (failing ? `, ${failing} of which ${failing === 1 ? "fails" : "fail"}` : ""), {}), lemmas);
    }
    const before = new Set(at ? story.states[at - 1] : story.states[at]);
    view.list(told, "The state", story.states[at], story.states[at].map((line) => (before.has(line) ? "" : "now")));
    view.tellRules(told, story, at);
  }
  const ASKED = { witness: ["shortest run to it", "Looking for the shortest run that reaches"],
    progress: ["endless run without it", "Looking for a run that goes on for ever without"] };
  function tellStandings(to, ones) {
    const all = add(to, "ul", { class: "standings" });
    for (const one of ones) {
      const line = add(all, "li", { title: one.says });
      view.standing(add(line, "span"), one, at);
      const [words, looking] = ASKED[one.role] ?? ["shortest run that breaks it", "Looking for the shortest run that breaks"];
      button(line, words, () => look(`${looking} ${one.name}`, { what: "shortest", property: one.id }),
        { class: "ask", "data-property": one.id, "aria-label": `${words}: ${one.name}` });
      const away = far?.[one.id];
      if (!away) continue;
      const told = add(line, "small", { class: away.path ? "bad" : "ghost" }, away.says
        ?? (away.steps ? `a nearest violation is ${away.steps} ${away.steps === 1 ? "step" : "steps"} from here ` : "broken here"));
      if (away.steps) button(told, "go there", () => {
        const steps = away.path.split(";");
        lead(steps, steps.length, null);
      }, { class: "ask" });
    }
  }

  addEventListener("hashchange", follow);
  let resized = 0;
  addEventListener("resize", () => {
    clearTimeout(resized);
    if (story) resized = setTimeout(drawRun, 100);
  });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !story) return;
    if (["SELECT", "INPUT"].includes(event.target.tagName)) return;
    if (event.key === "Backspace") { event.preventDefault(); undo(); return; }
    const to = view.led(event, at, path.length);
    if (to === undefined) return;
    event.preventDefault();
    walk(to);
  });
  follow().catch((error) => tell(error.message, "bad"));
})();

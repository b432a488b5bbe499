"use strict";
// What every page of runs draws: the run, a step a row in lanes, and what is told of the step that one stands on.
const view = (() => {
  const ROW = 34, TOP = 34, LEFT = 42, RIGHT = 130, LETTER = 6.6, MOST = 230, BOLD = 1.1, PHONE = 500;
  const DRAWN = new Set(["svg", "line", "rect", "circle", "path", "text", "title", "tspan", "g"]);

  // Text only ever enters the page as text: nothing of a run is read as markup.
  function add(to, name, attributes, text) {
    const one = DRAWN.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name)
      : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) one.setAttribute(key, value);
    if (text !== undefined) one.textContent = text;
    to.append(one);
    return one;
  }

  function button(to, words, pressed, attributes) {
    const one = add(to, "button", { type: "button", ...attributes }, words);
    one.addEventListener("click", pressed);
    return one;
  }

  // Draws a run and returns what marks the step that one stands on; `broken` is the step that breaks what was asked.
  function draw(run, story, broken, go) {
    const room = Math.min(760, run.clientWidth - LEFT - RIGHT);
    const named = Math.max(...story.lanes.map((lane) => lane.length)) * (LETTER + 1) + 10;
    const fits = Math.floor((run.clientWidth - LEFT) / story.lanes.length), even = Math.floor(room / story.lanes.length);
    const wide = Math.max(run.clientWidth < PHONE ? 60 : 96, Math.min(fits, Math.max(Math.min(MOST, named), Math.min(190, even))));
    const at = (lane) => LEFT + wide / 2 + lane * wide;
    const width = Math.max(run.clientWidth, LEFT + wide * story.lanes.length);
    const height = TOP + ROW * story.steps.length + 12;
    run.replaceChildren();
    const label = `${story.steps.length} steps in ${story.lanes.length} lanes`;
    const picture = add(run, "svg", { width, height, role: "img", "aria-label": label });
    for (let lane = 0; lane < story.lanes.length; lane++)
      add(picture, "line", { class: "lane", x1: at(lane), x2: at(lane), y1: TOP, y2: height });
    const rows = story.steps.map((step, place) => {
      const y = TOP + ROW * place + ROW / 2, from = at(step.lane);
      const row = add(picture, "g", { class: "step" });
      row.classList.toggle("danger", step.dangers.length > 0);
      row.classList.toggle("breaks", broken === place + 1);
      add(row, "rect", { class: "row", x: 0, y: y - ROW / 2, width, height: ROW });
      add(row, "text", { class: "number", x: LEFT - 10, y: y + 5 }, place + 1);
      for (const lane of step.reaches) {
        const to = at(lane), side = to > from ? -1 : 1;
        add(row, "line", { class: "arrow", x1: from, x2: to + side * 7, y1: y + 6, y2: y + 6 });
        add(row, "path", { class: "tip", d: `M${to} ${y + 6} l${side * 9} -4 v8 z` });
      }
      add(row, "circle", { class: "dot", cx: from, cy: y + 6, r: 4.5 });
      const name = add(row, "text", { class: "step-name", x: from + 9, y: y - 1 }, step.action);
      add(name, "tspan", { class: "step-words" }, `  ${step.words}`);
      row.addEventListener("click", () => go(place + 1));
      return row;
    });
    // Words that have no room on the right begin further on the left, and what has no room at all is cut.
    const names = rows.map((row) => row.querySelector(".step-name"));
    const lengths = names.map((name) => BOLD * name.getComputedTextLength()), most = width - LEFT - 8;
    names.forEach((name, place) => {
      const { action, words, lane } = story.steps[place], whole = `${action}  ${words}`;
      name.setAttribute("x", Math.max(LEFT, Math.min(at(lane) + 9, width - 8 - lengths[place])));
      if (lengths[place] <= most) return;
      const cut = `${whole.slice(0, Math.floor(whole.length * most / lengths[place]) - 1)}…`;
      name.firstChild.textContent = cut.slice(0, action.length);
      name.lastChild.textContent = cut.slice(action.length);
      add(name, "title", {}, whole);
    });
    if (story.loop !== null && story.loop < rows.length) {
      const [from, to] = [TOP + ROW * story.loop + 6, TOP + ROW * rows.length - 6];
      add(picture, "path", { class: "again", d: `M14 ${to} H7 V${from} h7` });
      add(picture, "path", { class: "again-tip", d: `M18 ${from} l-9 -4 v8 z` });
    }
    const head = add(picture, "g");
    add(head, "rect", { class: "head", x: 0, y: 0, width, height: TOP - 4 });
    const letters = Math.floor(wide / (LETTER + 1));
    const short = (lane) => (lane.length > letters ? `…${lane.slice(1 - letters)}` : lane);
    story.lanes.forEach((lane, place) => {
      const name = add(head, "text", { class: "lane-name", x: at(place), y: 21 }, short(lane));
      add(name, "title", {}, lane);
    });
    run.onscroll = () => head.setAttribute("transform", `translate(0 ${run.scrollTop})`);
    run.onscroll();
    return (steps) => {
      rows.forEach((row, place) => row.classList.toggle("here", place + 1 === steps));
      rows.forEach((row, place) => row.classList.toggle("later", place + 1 > steps));
      const top = TOP + ROW * Math.max(steps - 1, 0);
      if (top < run.scrollTop + TOP) run.scrollTop = top - TOP;
      if (top + ROW > run.scrollTop + run.clientHeight) run.scrollTop = top + ROW - run.clientHeight;
    };
  }

  function list(to, title, lines, classes) {
    if (!lines.length) return;
    add(to, "h3", {}, title);
    const all = add(to, "ul");
    lines.forEach((line, place) => add(add(all, "li"), "code", { class: classes ? classes[place] : "" }, line));
  }

  function walk(to, steps, last, go) {
    const buttons = add(to, "div", { class: "buttons" });
    for (const [words, there] of [["start", 0], ["▲ back", steps - 1], ["▼ on", steps + 1], ["end", last]])
      button(buttons, words, () => go(there)).disabled = there < 0 || there > last || there === steps;
    return buttons;
  }

  function tellStep(to, story, steps) {
    const last = story.steps.length, step = story.steps[steps - 1];
    if (!step) return void add(to, "h2", {}, "The beginning");
    add(to, "h2", {}, `Step ${steps} of ${last}: ${step.action}`);
    if (step.words) add(to, "p", { class: "ghost" }, step.words);
    add(to, "p", {}, step.says);
    if (step.dangers.length) add(to, "p", { class: "bad" }, `What goes wrong here: ${step.dangers.join(", ")}.`);
    list(to, "It changes", step.changes.map((c) => `${c.what}: ${c.old} → ${c.new}`),
      step.changes.map((c) => (c.ghost ? "ghost" : "now")));
    if (steps === last && story.loop !== null)
      add(to, "p", { class: "bad loop" }, story.loop < last
        ? `From here it goes on as after step ${story.loop}, for ever.` : "And so it stays, for ever.");
  }

  function tellRules(to, story, steps) {
    const step = story.steps[steps - 1];
    if (!step || !step.rules.length) return;
    add(to, "h3", {}, "The rules that this step follows");
    const all = add(to, "ul");
    for (const rule of step.rules) add(all, "li", {}, `${rule}: ${story.rules[rule]}`);
  }

  function standing(line, one, steps) {
    const holds = one.holds === null || one.holds[steps], quiet = one.role === "witness" || one.holds === null;
    const [sign, tone] = one.holds === null ? ["∞", "ghost"] : holds ? ["✓", "good"] : quiet ? ["·", "ghost"] : ["✗", "bad"];
    add(line, "span", { class: tone }, `${sign} `);
    const away = one.broken_at !== null && steps < one.broken_at && !quiet ? one.broken_at - steps : 0;
    const told = away ? `: broken in ${away} ${away === 1 ? "step" : "steps"} from here` : "";
    const wrong = one.sentence && steps === one.broken_at ? `: ${one.sentence}` : told;
    add(line, "span", {}, one.name + (one.rule ? ` [${one.rule}]` : "") + wrong);
  }

  // Where an arrow key, or Home or End, leads from a step of so many.
  const led = (event, here, last) =>
    ({ ArrowDown: here + 1, j: here + 1, ArrowUp: here - 1, k: here - 1, Home: 0, End: last })[event.key];

  return { add, button, draw, led, list, standing, tellRules, tellStep, walk };
})();

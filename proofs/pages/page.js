(() => {
  const { add } = view;
  const stories = JSON.parse(document.getElementById("stories").textContent);
  const asked = document.getElementById("asked"), run = document.getElementById("run");
  const told = document.getElementById("told");
  let story, mark, chosen = -1, here = -1;

  function open(number) {
    [chosen, here, story] = [number, -1, stories[number]];
    asked.replaceChildren();
    if (stories.length > 1) {
      const choice = add(asked, "select", { "aria-label": "Which run" });
      stories.forEach((one, place) => add(choice, "option", { value: place }, `${one.title}: ${one.asked}, ${one.verdict}`));
      choice.value = number;
      choice.addEventListener("change", () => go(Number(choice.value), null));
    }
    add(asked, "p", { class: "of" }, story.title + (story.says ? ` · ${story.says}` : ""));
    const title = add(asked, "h1", {}, `${story.asked}: `);
    add(title, "span", { class: story.good ? "good" : "bad" }, story.verdict);
    add(asked, "p", {}, story.asked_says);
    for (const line of story.about) add(asked, "p", { class: "about" }, line);
    if (story.left_out.length) {
      const more = add(asked, "details", { class: "left-out" });
      add(more, "summary", {}, `What the model does not have, so that nothing is said of it (${story.left_out.length})`);
      const all = add(more, "ul");
      for (const line of story.left_out) add(all, "li", {}, line);
    }
    document.title = `${story.asked}: ${story.title}`;
    mark = view.draw(run, story, story.broken_at, (steps) => go(chosen, steps));
  }

  function show(steps) {
    if (steps === here) return;
    here = steps;
    told.replaceChildren();
    view.walk(told, steps, story.steps.length, (to) => go(chosen, to));
    view.tellStep(told, story, steps);
    if (story.properties.length) {
      add(told, "h3", {}, "What holds here");
      const all = add(told, "ul");
      for (const one of story.properties) view.standing(add(all, "li", { title: one.says }), one, steps);
    }
    view.tellRules(told, story, steps);
    view.list(told, "The state", story.states[steps]);
    mark(steps);
  }

  // The address names the run and the step, so that a link leads back to what was looked at.
  function go(number, steps) {
    if (number !== chosen) open(number);
    const to = Math.max(0, Math.min(steps ?? story.broken_at ?? story.steps.length, story.steps.length));
    history.replaceState(null, "", `#run=${number}&step=${to}`);
    show(to);
  }
  function follow() {
    const named = new URLSearchParams(location.hash.slice(1));
    const number = Number(named.get("run") ?? 0), steps = named.has("step") ? Number(named.get("step")) : null;
    go(number in stories ? number : 0, Number.isInteger(steps) ? steps : null);
  }
  addEventListener("hashchange", follow);
  let resized = 0;
  addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => {
      mark = view.draw(run, story, story.broken_at, (steps) => go(chosen, steps));
      mark(here);
    }, 100);
  });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "SELECT") return;
    const to = view.led(event, here, story.steps.length);
    if (to === undefined) return;
    event.preventDefault();
    go(chosen, to);
  });
  follow();
})();

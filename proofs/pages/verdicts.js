(() => {
  const { stories, sentences, rules } = JSON.parse(document.getElementById("stories").textContent);
  for (const story of stories) {
    story.rules = rules;
    for (const step of story.steps) {
      step.says = sentences[step.says];
      step.changes = step.changes.map(([what, old, now, ghost]) => ({ what, old, new: now, ghost }));
    }
  }
  const viewer = document.getElementById("viewer"), run = document.getElementById("run");
  const told = document.getElementById("told"), filter = document.getElementById("filter");
  let story, mark, here = -1;

  // There is one place in which runs are drawn, which stands where the last one was opened.
  function draw(broken) {
    if (viewer.parentElement === broken) return;
    [story, here] = [stories[Number(broken.dataset.story)], -1];
    broken.append(viewer);
    viewer.hidden = false;
    mark = view.draw(run, story, story.broken_at, show);
    show(story.broken_at ?? story.steps.length);
  }

  function show(steps) {
    const to = Math.max(0, Math.min(steps, story.steps.length));
    if (to === here) return;
    here = to;
    told.replaceChildren();
    view.walk(told, to, story.steps.length, show);
    view.tellStep(told, story, to);
    if (story.properties.length) {
      view.add(told, "h3", {}, "What holds here");
      const all = view.add(told, "ul");
      for (const one of story.properties) view.standing(view.add(all, "li", { title: one.says }), one, to);
    }
    view.tellRules(told, story, to);
    mark(to);
  }

  viewer.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const to = view.led(event, here, story.steps.length);
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  });
  for (const broken of document.querySelectorAll("details[data-story]"))
    broken.addEventListener("toggle", () => broken.open && draw(broken));

  // A link leads to what it names also where that is closed.
  function follow() {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!named) return;
    for (let one = named; one; one = one.parentElement) {
      one.classList.remove("left");
      if (one.tagName === "DETAILS") one.open = true;
    }
    named.scrollIntoView();
  }
  addEventListener("hashchange", follow);
  follow();

  // What an item says counts, and what stands above it: its variant and protocol, or its source.
  const groups = [...document.querySelectorAll("details.group")];
  const items = [...document.querySelectorAll("details.item")].map((item) => {
    let text = item.textContent;
    for (let one = item.parentElement; one; one = one.parentElement)
      if (one.classList.contains("group")) text += ` ${one.querySelector("summary").textContent}`;
    return { item, text: text.toLowerCase() };
  });
  let waiting;
  function choose() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const { item, text } of items) {
      const matches = words.every((word) => text.includes(word));
      item.classList.toggle("left", !matches);
      found += matches;
    }
    for (const group of groups) {
      const matches = !words.length || group.querySelector("details.item:not(.left)") !== null;
      group.classList.toggle("left", !matches);
      group.open = words.length > 0 && matches && found <= 200;
    }
    document.getElementById("matches").textContent = words.length ? `${found} of ${items.length}` : "";
  }
  filter.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(choose, 120);
  });
})();

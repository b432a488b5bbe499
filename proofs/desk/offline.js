// Serves the desk from the browser's cache: what was loaded once is not asked for again. The cache is of one build.
const CACHE = "fencepost-desk-__DIGEST__";
const FILES = new Set(__FILES__.map((name) => new URL(name, self.registration.scope).href));

self.addEventListener("install", (event) => event.waitUntil(
  caches.open(CACHE).then((cache) => cache.addAll(["./", "desk.js", "desk.css", "page.css", "view.js", "catalogue.json"]))));
self.addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await caches.keys())
    if (name.startsWith("fencepost-desk-") && name !== CACHE) await caches.delete(name);
  await self.clients.claim();
})()));
self.addEventListener("fetch", (event) => {
  const url = event.request.url.split("#")[0].split("?")[0];
  if (event.request.method !== "GET" || !FILES.has(url)) return;
  event.respondWith((async () => {
    const cache = await caches.open(CACHE), known = await cache.match(url);
    if (known) return known;
    const answer = await fetch(event.request);
    if (answer.ok) await cache.put(url, answer.clone());
    return answer;
  })());
});

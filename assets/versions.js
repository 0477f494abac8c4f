// Tracks which view each part of the page shows, and dims the parts that do not show the newest choice.
//
// The server sends each part with the address that it was drawn for (`data-drawn`). Figures carry the address inside, so
// that it counts only once they are on the screen.

(() => {
  const failed = new Map(); // status of each failed request, by its output
  const TEXTS = {
    0: "The server does not respond.",
    503: "The server is busy.",
    other: "The server could not answer this.",
  };
  const MOST_TURNS = 4;
  const REST = "Dimmed parts show the previous view. ";

  function check() {
    const { address, isWaiting } = window.commutemap;
    for (const part of document.querySelectorAll("[data-part]")) {
      const busy = isWaiting() || !shows(part, address());
      if (busy !== (part.getAttribute("aria-busy") === "true")) part.setAttribute("aria-busy", busy);
    }
  }

  const shows = (part, address) => part.dataset.drawn === address && (part.hidden || figureShows(part, address));

  function figureShows(part, address) {
    const plot = part.querySelector(".dash-graph");
    if (!plot) return true;
    return plot.querySelector(".js-plotly-plot")?._fullLayout?.meta?.address === address;
  }

  // Figures and tables appear piece by piece: check after every change, before the browser paints it.
  new MutationObserver(check).observe(document.documentElement, {
    attributeFilter: ["data-drawn", "hidden"],
    childList: true,
    subtree: true,
  });

  // A failure counts only for the newest choice. It ends when the same question is answered or the visitor asks another.
  function note(output, body, status) {
    if (status === 200 || status === 204) failed.delete(output);
    else if (isNewest(body)) failed.set(output, status);
    if (failed.has(output) && output.includes("followed.data")) window.commutemap.fail();
    say();
  }

  // A failed request that a part of the page made itself.
  function lack(name, of, status) {
    if (of !== window.commutemap.address()) return;
    failed.set(name, status);
    say();
  }

  function isNewest({ inputs }) {
    const { address, isNewest: isLast } = window.commutemap;
    const given = inputs.flat()[0];
    if (given.id === "choices") return isLast(given.value?.n);
    if (given.id === "look") return given.value?.search === address();
    return !["search", "data"].includes(given.property) || given.value === address();
  }

  function say() {
    let said = document.getElementById("away");
    if (!said && !failed.size) return;
    if (!said) {
      said = Object.assign(document.createElement("div"), { id: "away", className: "away" });
      said.setAttribute("role", "alert");
      document.body.append(said);
    }
    const [status] = failed.values();
    const text = failed.size ? `${TEXTS[status] ?? TEXTS.other} ${REST}` : "";
    if (said.firstChild?.textContent !== text) said.replaceChildren(text, again());
    said.hidden = !text;
  }

  function again() {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Try again" });
    button.addEventListener("click", () => {
      forget();
      window.commutemap.retry();
    });
    return button;
  }

  function forget() {
    failed.clear();
    say();
  }

  const ask = window.fetch.bind(window);
  let leaving = false;
  window.addEventListener("pagehide", () => (leaving = true));
  window.addEventListener("pageshow", () => (leaving = false));
  // Only the browser knows which colors the system prefers, so requests say it (`mapapp.explore.color_scheme`).
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => new URLSearchParams(location.search).get("theme");
  const preferred = () => (dark.matches ? "dark" : "light");
  const theme = () => (["light", "dark"].includes(chosen()) ? chosen() : preferred());
  dark.addEventListener("change", () => window.commutemap.retry?.());

  window.fetch = async (...request) => {
    const asked = String(request[0]?.url ?? request[0]);
    const isLayout = asked.includes("_dash-layout"); // the address of a view comes with the other requests
    if (!isLayout && !asked.includes("_dash-update-component")) return ask(...request);
    const scheme = isLayout ? theme() : preferred();
    request[1] = { ...request[1], headers: { ...request[1]?.headers, "X-Color-Scheme": scheme } };
    if (isLayout) return ask(...request);
    const body = () => JSON.parse(request[1].body);
    try {
      const answer = await patiently(request, () => isNewest(body()));
      if (!answer.ok || failed.size) note(body().output, body(), answer.status);
      return answer;
    } catch (error) {
      if (!leaving && error.name !== "AbortError") note(body().output, body(), 0);
      throw error;
    }
  };

  // A busy server says when to try again. A request is repeated only while its answer is still wanted.
  async function patiently(request, isWanted = () => true) {
    for (let turn = 1; ; turn += 1) {
      const answer = await ask(...request);
      const seconds = Number(answer.headers.get("Retry-After"));
      if (answer.status !== 503 || !seconds || turn === MOST_TURNS || !isWanted()) return answer;
      await new Promise((go) => setTimeout(go, 1000 * seconds * (1 + Math.random())));
      if (request[1]?.signal?.aborted || !isWanted()) return answer;
    }
  }

  window.commutemap = Object.assign(window.commutemap ?? {}, { check, forget, lack, patiently, theme });
})();

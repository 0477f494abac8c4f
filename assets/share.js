// Sharing: the link to a view, the HTML that embeds it, printing, and the map within another page.

(() => {
  const SHOWN_MS = 4_000;
  const PRINT = { width: 690, height: 560 }; // pixels of a map on paper: title, findings, and numbers fit beside it
  let hiding = 0;

  const isEmbedded = new URLSearchParams(location.search).get("embed") === "1";
  document.documentElement.classList.toggle("embedded", isEmbedded);

  function linkOf(embed) {
    const link = new URL(location.href);
    link.hash = "";
    link.searchParams.delete("embed");
    // `URLSearchParams` would escape colons and commas, and addresses of areas have many of both.
    const query = link.search.replaceAll("%3A", ":").replaceAll("%2C", ",");
    return `${link.origin}${link.pathname}${query}${embed ? `${query ? "&" : "?"}embed=1` : ""}`;
  }

  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

  const snippet = () =>
    `<iframe src="${escaped(linkOf(true))}" title="${escaped(document.title)}"` +
    ' width="100%" height="640" style="border:0" loading="lazy" allowfullscreen></iframe>';

  const TEXTS = { link: () => linkOf(false), snippet };

  // The clipboard needs a secure page and sometimes a permission; the older way needs neither.
  async function copy(button) {
    const text = TEXTS[button.dataset.copy]();
    const copied = (await toClipboard(text)) || selectAndCopy(text);
    say(copied ? "Copied." : `Copy this: ${text}`);
    button.classList.toggle("copied", copied);
    setTimeout(() => button.classList.remove("copied"), SHOWN_MS);
  }

  const toClipboard = (text) =>
    navigator.clipboard ? navigator.clipboard.writeText(text).then(() => true, () => false) : Promise.resolve(false);

  function selectAndCopy(text) {
    const before = document.activeElement;
    const area = Object.assign(document.createElement("textarea"), { value: text, className: "unseen" });
    area.setAttribute("aria-hidden", "true");
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    before?.focus({ preventScroll: true });
    return copied;
  }

  function say(text) {
    const said = document.getElementById("copy-said");
    said.textContent = text;
    clearTimeout(hiding);
    if (text === "Copied.") hiding = setTimeout(() => (said.textContent = ""), SHOWN_MS);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (button) copy(button);
    if (event.target.closest?.("#take-home > summary")) write();
  });

  // The snippet shows the newest view. React owns the field's value, so Dash sets it.
  const write = () =>
    document.getElementById("embed-snippet") &&
    window.dash_clientside.set_props("embed-snippet", { value: snippet() });

  // Within another page every link opens a tab of its own, and the map leaves scrolling to that page.
  if (isEmbedded) {
    document.addEventListener(
      "click",
      (event) => {
        const link = event.target.closest?.("a[href]:not(.take)");
        if (!link) return;
        event.preventDefault();
        event.stopPropagation();
        window.open(link.classList.contains("full-view") ? linkOf(false) : link.href, "_blank", "noopener");
      },
      true,
    );
    new MutationObserver(() => {
      const map = mapOf();
      if (!map?.cooperativeGestures || map.cooperativeGestures.isEnabled()) return;
      map.cooperativeGestures.enable(); // two fingers, or the wheel with Ctrl
    }).observe(document.documentElement, { childList: true, subtree: true });
  }

  const plot = () => document.querySelector("#map .js-plotly-plot");
  const mapOf = () => plot()?._fullLayout?.map?._subplot?.map;

  // The title on paper and in a frame. The page may come after its title, so its place is filled once it is there.
  function head() {
    const place = document.querySelector(".shown-title");
    if (place && place.textContent !== document.title) place.textContent = document.title;
  }
  new MutationObserver(() => document.querySelector(".shown-title:empty") && head()).observe(document.documentElement, {
    childList: true,
    subtree: true,
  });

  function entitle(title) {
    if (!title) return;
    document.title = title;
    head();
    if (document.getElementById("take-home")?.open) write();
  }

  // A live map cannot be printed, so a picture of it takes its place, at a size that fits the page.
  window.addEventListener("beforeprint", () => {
    const map = mapOf();
    const stage = document.querySelector(".explorer .stage");
    if (!map || !stage) return;
    map.redraw();
    const live = map.getCanvas();
    const { width, height } = live.getBoundingClientRect();
    const picture = Object.assign(document.createElement("canvas"), { className: "printed-map" });
    [picture.width, picture.height] = [live.width, live.height];
    Object.assign(picture.style, { width: `${width}px`, height: `${height}px` });
    picture.getContext("2d").drawImage(live, 0, 0);
    live.after(picture);
    const shown = stage.getBoundingClientRect();
    stage.style.width = `${shown.width}px`;
    stage.style.height = `${shown.height}px`;
    stage.style.zoom = Math.min(1, PRINT.width / shown.width, PRINT.height / shown.height);
  });
  // A matrix is as wide as its page.
  window.addEventListener("beforeprint", () => {
    const matrix = document.getElementById("matrix");
    if (matrix?.offsetWidth) matrix.style.zoom = Math.min(1, (PRINT.width - 30) / matrix.scrollWidth);
  });
  window.addEventListener("afterprint", () => {
    document.querySelector(".printed-map")?.remove();
    document.getElementById("matrix")?.style.removeProperty("zoom");
    const stage = document.querySelector(".explorer .stage");
    for (const name of ["width", "height", "zoom"]) stage?.style.removeProperty(name);
  });

  window.dash_clientside = window.dash_clientside ?? {};
  Object.assign((window.dash_clientside.commutemap ??= {}), { entitle });
})();

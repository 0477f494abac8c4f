// Downloads. The script fetches each file, so that a failure does not leave the page and the visitor can stop it.

(() => {
  const SHOWN_MS = 12_000;
  let making = null;
  let hiding = 0;

  // The camera on the map gives the picture of the menu below the answer, which has title, legend, and source.
  document.addEventListener(
    "click",
    (event) => {
      const link = document.querySelector('#take-files a.take[href*="map.png"]');
      if (!link || !event.target.closest?.('#map .modebar-btn[data-title^="Download"]')) return;
      event.stopPropagation();
      link.click();
    },
    true,
  );

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#take-stop")) making?.abort();
    const link = event.target.closest?.("a.take");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (making) return say("One file at a time: wait for the current file, or stop it.", true);
    take(link);
  });

  async function take(link) {
    making = new AbortController();
    const what = link.getAttribute("aria-label").replace("Download ", "");
    say(`Making ${what} …`, true);
    try {
      const answer = await fetch(addressOf(link), { signal: making.signal });
      if (!answer.ok) return say((await answer.text()).trim() || "This file could not be made.");
      const content = await answer.blob();
      keep(content, nameOf(answer));
      say(`Downloaded: ${what} (${size(content.size)}).`);
    } catch (error) {
      say(error.name === "AbortError" ? "Stopped. No file was made." : "The server does not respond. Try again.");
    } finally {
      making = null;
    }
  }

  // Pictures and setup files use the current bounds of the map, and pictures its colors.
  function addressOf(link) {
    const map = document.querySelector("#map .js-plotly-plot")?._fullLayout?.map?._subplot?.map;
    const address = new URL(link.href);
    const menus = link.closest(".take-row")?.querySelectorAll("[data-option]") ?? []; // size, paper, rows
    if (/\.(png|pdf)$/.test(address.pathname)) {
      for (const { dataset, value } of menus) if (value) address.searchParams.set(dataset.option, value);
    }
    if (/\.(png|svg)$/.test(address.pathname)) address.searchParams.set("theme", window.commutemap.theme());
    if (!map || !link.classList.contains("view")) return address;
    const { _sw, _ne } = map.getBounds();
    const [west, east] = [Math.max(_sw.lng, -180), Math.min(_ne.lng, 180)];
    if (!(west < east)) return address;
    address.searchParams.set("bounds", [west, _sw.lat, east, _ne.lat].map((edge) => edge.toFixed(5)).join(","));
    return address;
  }

  const nameOf = (answer) =>
    /filename="?([A-Za-z0-9._-]+)"?/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? "commutemap";

  const size = (bytes) =>
    bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3)).toLocaleString("en-US")} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

  function keep(content, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  function say(text, busy = false) {
    const said = document.getElementById("take-said");
    if (!said) return; // the visitor has gone to another page
    said.textContent = text;
    document.getElementById("take-stop").hidden = !busy;
    clearTimeout(hiding);
    if (!busy) hiding = setTimeout(() => (said.textContent = ""), SHOWN_MS);
  }
})();

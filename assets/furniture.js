// Map furniture: names of places, water, counties, and states, and a scale bar.
//
// The map's own text would need glyph files. HTML elements need none, and the browser's fonts have every character.

(() => {
  const LOOK_EVERY_MS = 400; // the map comes and goes with its page without an event
  const AGAIN_MS = 2000; // as the server says in `Retry-After`
  const GAP = 6; // pixels between names
  const PIXELS_PER_NAME = 14_000; // of the map: more names than that hide it
  const LARGE = 100_000; // people; also in `mapapp.show.content.map_layers`
  const MIDDLE = 25_000;
  const WIDE_ZOOM = 6.5; // below it, states are named first
  const FAR = { sea: "water", state: "far-state", city: "far-city" }; // names around the release
  const MILES_PER_RADIAN = 3958.7613;
  const MILES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000];
  let furnished = null;
  let watched = null;

  setInterval(() => {
    const { plot, map } = shown();
    if (map && map !== furnished && map.isStyleLoaded()) furnish(plot, map);
  }, LOOK_EVERY_MS);

  // Finds a new map as soon as it is on the page, before a response to its first requests can arrive.
  new MutationObserver(() => {
    const { plot, map } = shown();
    if (!map || map === watched) return;
    watched = map;
    watch(plot, map);
  }).observe(document.documentElement, { childList: true, subtree: true });

  // Plotly gives up drawing a new map at its first error. A busy server is no reason to give up, so the error ends here.
  function watch(plot, map) {
    const pass = map.fire.bind(map);
    map.fire = (event, ...more) => {
      if (event.type !== "error" || !event.sourceId) return pass(event, ...more);
      missed(plot, map, event.sourceId, event.error);
      return map;
    };
    map.on("error", () => {}); // without a listener, errors do not reach `fire`
  }

  function shown() {
    const plot = document.querySelector("#map .js-plotly-plot");
    return { plot, map: plot?._fullLayout?.map?._subplot?.map };
  }

  function furnish(plot, map) {
    furnished = map;
    const layer = element("furniture", map.getContainer());
    layer.setAttribute("aria-hidden", "true"); // the search and the table have every name
    const scale = element("scale", layer);
    const names = element("names", layer);
    let wanted = [];
    const draw = () => {
      drawScale(map, scale);
      drawNames(map, wanted, names, [scale]);
    };
    map.on("move", draw);
    map.on("movestart", dropTip);
    map.on("resize", draw);
    let read = "";
    const again = async () => {
      const { sources, metadata } = plot._fullLayout.map.style;
      const addresses = [metadata.places, sources.counties.data, sources.states.data];
      if (read === addresses[0]) return;
      read = addresses[0];
      const found = await Promise.all(addresses.map(async (one) => (await patiently(one)).json()));
      names.replaceChildren();
      wanted = inOrder(...found.map(({ features }) => features));
      draw();
    };
    map.on("styledata", again);
    const mark = () => {
      repaint(plot, map);
      draw();
      window.commutemap.showFlows(plot, map);
      window.commutemap.showHatching(plot, map);
      window.commutemap.showMorning(plot, map);
      window.commutemap.showLegend(plot);
      if (map.loaded()) stamp(plot);
    };
    plot.on("plotly_afterplot", mark);
    plot.on("plotly_hover", ({ points }) => lightRow(points?.[0]?.location));
    plot.on("plotly_unhover", () => lightRow());
    map.on("idle", () => {
      draw(); // flows come after the map has moved
      stamp(plot);
      inkNames(map, wanted);
    });
    again();
    mark();
  }

  // The workbench's map has furniture, too, and makes its own requests.
  const act = (trigger, value) => document.getElementById("area-rows") && window.commutemap.act(trigger, value);

  // The whole map shows one view once its shapes and pictures have loaded.
  function stamp(plot) {
    const part = plot.closest("[data-part]");
    const address = plot._fullLayout?.meta?.address;
    if (part && address !== lacking && window.commutemap.flowsDrawn(plot)) part.dataset.drawn = address;
  }

  const patiently = (address, isWanted) => window.commutemap.patiently([address], isWanted);

  // MapLibre requests shapes only once. If the server was busy, wait until it sends them; the browser caches the response,
  // and the map then loads it from there.
  async function missed(plot, map, name, error) {
    if (error?.status === 503 && map.getSource(name)?.type === "raster") {
      return setTimeout(() => map.getSource(name) && map.refreshTiles(name), AGAIN_MS); // tiles of dots
    }
    const addressOf = () => plot._fullLayout?.map?.style?.sources?.[name]?.data;
    const address = addressOf();
    if (error?.status !== 503 || typeof address !== "string") return lack(plot, error);
    const answer = await patiently(address, () => addressOf() === address).catch(() => null);
    if (addressOf() !== address) return;
    if (answer?.ok) map.getSource(name)?.setData(address);
    else lack(plot, error);
  }

  let lacking = null; // the address of the view whose shapes or picture did not load

  function lack(plot, error) {
    lacking = plot._fullLayout?.meta?.address ?? null;
    window.commutemap.lack("map", lacking, error?.status ?? 0);
  }

  // Listen for clicks on the page, not on the map, so that a click during a redraw counts, too.
  const STILL = 3; // pixels that the pointer may move during a click
  let pressed = null;

  document.addEventListener("pointerdown", ({ clientX, clientY }) => (pressed = [clientX, clientY]), true);
  document.addEventListener("click", clicked, true);

  function clicked(event) {
    const { target, clientX, clientY, button } = event;
    const map = document.querySelector("#map .js-plotly-plot")?._fullLayout?.map?._subplot?.map;
    const canvas = target.closest?.("#map .maplibregl-canvas-container");
    if (!map || !canvas || button || !pressed) return;
    if (window.commutemap.tappedFlow(event)) return;
    if (Math.hypot(clientX - pressed[0], clientY - pressed[1]) > STILL) return;
    const { left, top } = map.getCanvas().getBoundingClientRect();
    const { lng, lat } = map.unproject([clientX - left, clientY - top]);
    act("clicked", { lon: lng, lat });
  }

  // Light or dark: the base map keeps its layers and changes their colors.
  function repaint(plot, map) {
    const paint = plot._fullLayout?.meta?.paint;
    const key = JSON.stringify(paint);
    if (!paint || map.paintedAs === key || !map.getLayer("land")) return;
    map.paintedAs = key;
    for (const [id, colours] of Object.entries(paint)) {
      for (const [name, colour] of Object.entries(colours)) map.setPaintProperty(id, name, colour);
    }
  }

  // The box of the map's buttons with a gap around it, in the map's pixels; no size while there is no toolbar.
  function toolbar(map) {
    const buttons = map.getContainer().closest(".js-plotly-plot")?.querySelector(".modebar");
    const box = buttons?.getBoundingClientRect();
    if (!box?.width) return [0, 0, 0, 0];
    const { left, top } = map.getContainer().getBoundingClientRect();
    return [box.left - left - GAP, box.top - top - GAP, box.right - left + GAP, box.bottom - top + GAP];
  }

  // Highlight a row and its unit together.
  function lightRow(unit) {
    for (const row of document.querySelectorAll(".linked-rows tr.lit")) row.classList.remove("lit");
    if (unit === undefined) return;
    const row = document.querySelector(`.linked-rows tr[data-unit$=":${CSS.escape(unit)}"]:not([data-unit*=" "])`);
    row?.classList.add("lit");
  }

  const shapesOf = new Map();

  async function lightUnit(key) {
    const plot = document.querySelector("#map .js-plotly-plot");
    const map = plot?._fullLayout?.map?._subplot?.map;
    const address = plot?._fullData?.[0]?.geojson;
    if (!map || typeof address !== "string") return;
    if (!shapesOf.has(address)) shapesOf.set(address, patiently(address).then((answer) => answer.json()));
    const { features } = await shapesOf.get(address);
    const unit = key?.split(":")[1];
    const data = { type: "FeatureCollection", features: features.filter(({ id }) => id === unit) };
    if (map.getSource("lit")) {
      map.getSource("lit").setData(data);
    } else if (unit && map.isStyleLoaded()) {
      map.addSource("lit", { type: "geojson", data });
      const colour = getComputedStyle(document.getElementById("app")).getPropertyValue("--lit");
      map.addLayer({ id: "lit", type: "line", source: "lit", paint: { "line-color": colour, "line-width": 3 } });
    }
  }

  const rowOf = ({ target }) => target.closest?.(".linked-rows tr[data-unit]");
  for (const [come, go] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(come, (event) => rowOf(event) && lightUnit(rowOf(event).dataset.unit));
    document.addEventListener(go, (event) => rowOf(event) && lightUnit());
  }

  // Names, most important first. States come first in a wide view, and last in any other.
  function inOrder(places, counties, states) {
    const of = (kind) => ({ properties: { name, at, box } }) => ({ kind, name, at, box });
    const named = places.map(({ geometry, properties: { name, people, water, far, width } }) => ({
      kind: far ? FAR[far] : water ? "water" : people >= LARGE ? "large" : people >= MIDDLE ? "middle" : "small",
      name,
      at: geometry.coordinates,
      width: width || undefined,
      people,
    }));
    const ofKind = (...kinds) => named.filter(({ kind }) => kinds.includes(kind));
    const cities = ofKind("far-city");
    return [
      ...ofKind("large", "middle"),
      ...ofKind("water"),
      ...cities.filter(({ people }) => people >= LARGE),
      ...ofKind("small"),
      ...counties.map(of("county")),
      ...states.map(of("state")),
      ...ofKind("far-state"),
      ...cities.filter(({ people }) => people < LARGE),
    ];
  }

  // A name is shown if there is room for it and no more important name is in the way.
  function drawNames(map, wanted, names, others) {
    const taken = covered(map, others);
    const { clientWidth, clientHeight } = map.getContainer();
    const most = taken.length + Math.max(4, (clientWidth * clientHeight) / PIXELS_PER_NAME);
    const said = new Set();
    const isWide = map.getZoom() < WIDE_ZOOM;
    const states = wanted.filter(({ kind }) => kind.endsWith("state"));
    const circles = window.commutemap.flowCircles(map);
    for (const one of isWide ? new Set([...states, ...wanted]) : wanted) {
      const isFree = (place) => ![...taken, ...circles].some((other) => overlap(place, other));
      const place = taken.length < most && !said.has(one.name) && placesOf(map, one, circles).find(isFree);
      const shown = Boolean(place);
      if (shown) {
        taken.push(place);
        said.add(one.name);
        one.made ??= madeName(one, names);
        one.made.style.transform = `translate(${Math.round(place[0] + GAP)}px, ${Math.round(place[1] + GAP)}px)`;
      }
      if (one.made) one.made.style.visibility = shown ? "visible" : "hidden";
    }
  }

  // A name over dark fills is white, one over light fills is dark, and neither has a halo. One across both keeps it.
  const DARK = 0.2; // relative luminance; also in `mapapp.show.content.palette`

  function inkNames(map, wanted) {
    const fill = map.getLayersOrder().find((id) => id.startsWith("plotly-trace-layer") && id.endsWith("-fill"));
    for (const one of wanted) {
      if (one.made?.style.visibility !== "visible" || one.kind === "water") continue;
      const { x, y } = map.project(one.at);
      const half = sizeOf(one)[0] / 2;
      const inks = new Set([x - half, x, x + half].map((at) => (fill ? inkAt(map, fill, [at, y]) : "")));
      const [ink] = inks;
      one.made.classList.toggle("on-dark", inks.size === 1 && ink === "light");
      one.made.classList.toggle("on-light", inks.size === 1 && ink === "dark");
    }
  }

  function inkAt(map, layer, point) {
    const color = map.queryRenderedFeatures(point, { layers: [layer] })[0]?.properties?.fc ?? "";
    const parts = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(color)?.slice(1).map((part) => (part / 255) ** 2.2);
    if (!parts) return ""; // not filled
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] < DARK ? "light" : "dark";
  }

  // The boxes that a name may have, with a gap around it, in the map's pixels: where its unit is, and below and above the
  // circles of flows there. Nothing if it leaves the map or its unit.
  function placesOf(map, one, circles) {
    const { clientWidth, clientHeight } = map.getContainer();
    const { x, y } = map.project(one.at);
    if (x < 0 || y < 0 || x > clientWidth || y > clientHeight) return [];
    const [width, height] = sizeOf(one);
    if (room(map, one) <= width) return [];
    const boxAt = (middle) => [x - width / 2 - GAP, middle - height / 2 - GAP, x + width / 2 + GAP, middle + height / 2 + GAP];
    const own = boxAt(y);
    const beside = circles.filter((circle) => overlap(own, circle)).flatMap(([, top, , bottom]) => {
      return [bottom + height / 2 + GAP, top - height / 2 - GAP].map(boxAt);
    });
    return [own, ...beside].filter((box) => box[0] > 0 && box[1] > 0 && box[2] < clientWidth && box[3] < clientHeight);
  }

  // How wide a name may be, in pixels: it can be wider than its place.
  function room(map, { at, box, width }) {
    if (box) return map.project([box[2], box[1]]).x - map.project([box[0], box[1]]).x;
    return width ? map.project([at[0] + width, at[1]]).x - map.project(at).x : Infinity;
  }

  const FONTS = {
    large: [14.5, 650, 0],
    middle: [13, 600, 0],
    small: [12, 500, 0],
    water: [12, 500, 0.4],
    county: [11, 600, 0.9],
    state: [12, 650, 1],
    "far-city": [12, 450, 0],
    "far-state": [11, 600, 1],
  }; // pixels, weight, and pixels between letters, as in the style sheet
  const ruler = document.createElement("canvas").getContext("2d");

  function sizeOf(one) {
    if (!one.size) {
      const [pixels, weight, space] = FONTS[one.kind];
      const text = one.kind.endsWith("state") ? one.name.toUpperCase() : one.name;
      ruler.font = `${weight} ${pixels}px ${getComputedStyle(document.body).fontFamily}`;
      one.size = [ruler.measureText(text).width + space * text.length + 2, pixels * 1.25];
    }
    return one.size;
  }

  function madeName({ kind, name }, names) {
    const made = element(`name ${kind}`, names);
    made.textContent = name;
    return made;
  }

  // Boxes on the map that names avoid: buttons, the scale bar, the legend, and what an answer writes on it.
  function covered(map, others) {
    const container = map.getContainer();
    const { left, top } = container.getBoundingClientRect();
    const plot = container.closest(".js-plotly-plot");
    const drawn = plot.querySelectorAll(".infolayer .annotation");
    return [...others, ...drawn, ...document.querySelectorAll("#glance, [data-draw], .legend-chip, .legend-body")]
      .map((one) => one.getBoundingClientRect())
      .filter(({ width }) => width)
      .map((box) => [box.left - left, box.top - top, box.right - left, box.bottom - top])
      .concat([toolbar(map)]);
  }

  function overlap(one, other) {
    return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
  }

  function drawScale(map, scale) {
    const { lat } = map.getCenter();
    const pixelMiles =
      (2 * Math.PI * MILES_PER_RADIAN * Math.cos((lat * Math.PI) / 180)) / (512 * 2 ** map.getZoom());
    const miles = MILES.findLast((one) => one / pixelMiles <= 120) ?? MILES[0];
    scale.style.width = `${miles / pixelMiles}px`;
    scale.textContent = `${miles.toLocaleString("en-US")} mi`;
  }

  function element(className, parent) {
    const made = document.createElement("div");
    made.className = className;
    parent.append(made);
    return made;
  }

  // Plotly keeps the last hover label when the pointer leaves the map quickly, and when the map moves below it.
  const dropTip = () => document.querySelector("#map .hoverlayer")?.replaceChildren();
  document.addEventListener("mouseout", (event) => {
    const map = event.target.closest?.("#map");
    if (map && !map.contains(event.relatedTarget)) dropTip();
  });
})();

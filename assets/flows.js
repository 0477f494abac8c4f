// Flows on the map: half-arrows from homes to workplaces, as wide as they are large, and a circle at each place.
//
// The server draws places that would overlap as one; after a zoom, the script asks for the places of the new zoom level.
// `flow_layer.js` draws them.

(() => {
  const LAYER = "flows";
  const NEAR_PX = 5; // from a flow or a circle to a mouse pointer; twice that to a finger
  const LEAST_WIDTH_PX = 0.9; // also in `flow_layer.js`
  const ERROR_AFTER_MS = 200; // that the pointer rests on a flow
  const TIP_GAP = 14;
  const LEAST_RIM = 6; // of a circle that would hide a part of a name, pixels
  let shown = null; // what is on the map: { map, plot, url, look, data, layer, … }

  const mercator = (lon, lat) => [
    (180 + lon) / 360,
    (180 - (180 / Math.PI) * Math.log(Math.tan(Math.PI / 4 + (lat * Math.PI) / 360))) / 360,
  ];

  // Called after the page has drawn a figure: show its flows, if it has any.
  async function show(plot, map) {
    const look = plot._fullLayout?.meta?.flows;
    if (!look) return hide();
    if (shown?.map !== map) {
      hide();
      shown = { map, plot, spots: null };
      watch(map, plot);
    }
    shown.look = look;
    placeSlider();
    if (shown.layer && map.getLayer(LAYER)) dress();
    await load();
  }

  function hide() {
    if (!shown) return;
    if (shown.map.style && shown.map.getLayer(LAYER)) shown.map.removeLayer(LAYER);
    leave(true);
    Object.assign(shown, { look: null, data: null, address: null, wanted: null, layer: null });
    document.getElementById("flow-slider")?.remove();
  }

  const watched = new WeakSet();

  function watch(map, plot) {
    if (watched.has(map)) return;
    watched.add(map);
    map.on("zoomend", () => shown?.look && load());
    map.on("move", () => shown && ((shown.spots = null), (tipOf(map).hidden = true)));
    map.on("moveend", () => shown?.data && leave());
    map.on("styledata", () => shown?.data && !map.getLayer(LAYER) && put());
    const canvas = map.getCanvasContainer();
    canvas.addEventListener("pointermove", (event) => event.pointerType === "mouse" && point(event, NEAR_PX));
    canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && leave());
    new ResizeObserver(() => shown && (shown.spots = null)).observe(plot);
  }

  // The flows of the view at the map's zoom level. An answer that comes too late is not shown.
  async function load() {
    const { map, plot, look } = shown;
    // The camera moves while Plotly draws the next figure, before the page says that it is drawn.
    const isOfFigure = () => shown?.look?.url === look.url && plot._fullLayout?.meta?.flows?.url === look.url;
    if (!isOfFigure()) return;
    const width = Math.round(map.getContainer().clientWidth);
    const level = Math.min(Math.max(Math.floor(map.getZoom() + 1e-6), 0), 24);
    const address = `${look.url}${look.url.includes("?") ? "&" : "?"}zoom=${level}&width=${width}`;
    if (shown.wanted === address && shown.look === look) return;
    const isFirst = shown.data === null || shown.url !== look.url;
    Object.assign(shown, { wanted: address });
    const answer = await window.commutemap.patiently([address], () => shown?.wanted === address);
    if (shown?.wanted !== address || !isOfFigure()) return;
    if (!answer.ok) {
      shown.wanted = null;
      return window.commutemap.lack("map", shown.plot._fullLayout?.meta?.address, answer.status);
    }
    const data = await answer.json();
    if (shown?.wanted !== address || !isOfFigure()) return;
    Object.assign(shown, { data, address, url: look.url, spots: null });
    put();
    if (!isFirst) caption(data.caption);
    offerPlaces();
    map.triggerRepaint();
  }

  function put() {
    const { map, data } = shown;
    if (!map.getLayer(LAYER)) {
      shown.layer = window.commutemap.flowLayer();
      const above = map.getStyle().layers.find(({ id }) => id === "lit" || id.startsWith("plotly-layout-layer"));
      map.addLayer(shown.layer, above?.id); // borders of the chosen area stay on top
    }
    const places = data.lon.map((lon, at) => mercator(lon, data.lat[at]));
    const origin = places[0] ?? [0, 0];
    const away = ([x, y]) => [x - origin[0], y - origin[1]];
    const flows = data.workers.map((_, flow) => {
      const [home, work] = [data.home[flow], data.work[flow]];
      const look = [data.widths[flow], data.strengths[flow], rim(home), rim(work)];
      return [...away(places[home]), ...away(places[work]), ...look];
    });
    const circles = places.map((place, at) => [...away(place), data.radii[0][at], data.radii[1][at]]);
    shown.layer.fill(flows, circles, origin);
    dress();
  }

  const rim = (place) => Math.max(shown.data.radii[0][place], shown.data.radii[1][place]);

  function dress() {
    shown.layer.data.look = shown.look;
    preview(shown.look.least);
  }

  // Leave out the small flows at once; the server counts again when the slider comes to rest.
  function preview(least) {
    const { workers } = shown.data ?? { workers: [] };
    const kept = workers.findIndex((count) => count < least);
    shown.layer.data.first = kept < 0 ? 0 : workers.length - kept;
    leave();
    shown.map.triggerRepaint();
  }

  // The caption says what share of the jobs is drawn, which changes with the groups.
  function caption(text) {
    const { plot } = shown;
    if (plot.layout?.annotations?.[0]?.text === text) return;
    window.Plotly.relayout(plot, { "annotations[0].text": text });
  }

  // Whether the flows of the figure are on the map; only then does the page count it as drawn.
  const isDrawn = (plot) => {
    const look = plot._fullLayout?.meta?.flows;
    return !look || (shown?.plot === plot && shown.url === look.url && shown.data !== null);
  };

  // Screen positions of all places, until the map moves.
  function spots() {
    const { map, data } = shown;
    shown.spots ??= data.lon.map((lon, at) => map.project([lon, data.lat[at]]));
    return shown.spots;
  }

  // The boxes of circles that are large enough to hide a name, pixels.
  function boxesOfCircles(map) {
    if (shown?.map !== map || !shown.look || !shown.data) return [];
    return spots().flatMap(({ x, y }, place) => {
      const reach = rim(place);
      return reach < LEAST_RIM ? [] : [[x - reach, y - reach, x + reach, y + reach]];
    });
  }

  // The place whose circle is at a point, the smallest of several.
  function placeAt(x, y, reach) {
    const places = spots();
    let chosen = -1;
    places.forEach((spot, place) => {
      const isNear = rim(place) > 0 && Math.hypot(spot.x - x, spot.y - y) <= rim(place) + reach;
      if (isNear && (chosen < 0 || rim(place) < rim(chosen))) chosen = place;
    });
    return chosen;
  }

  function nearest(x, y, reach) {
    const { data, layer } = shown;
    let chosen = -1;
    let least = reach;
    for (let flow = 0; flow < data.workers.length - layer.data.first; flow += 1) {
      const away = distance(x, y, flow);
      if (away < least) [chosen, least] = [flow, away];
      if (least <= 0) break; // inside a flow; smaller ones are below it
    }
    return chosen;
  }

  // Where a flow begins, its direction and its length, pixels, as the shader has them.
  function wayOf(flow) {
    const { data, look: { shape } } = shown;
    const [home, work] = [spots()[data.home[flow]], spots()[data.work[flow]]];
    const length = Math.max(Math.hypot(work.x - home.x, work.y - home.y), 1e-3);
    const along = [(work.x - home.x) / length, (work.y - home.y) / length];
    const rims = [rim(data.home[flow]), rim(data.work[flow])];
    const fit = Math.min(Math.max((length - shape.shortest) / Math.max(rims[0] + rims[1], 1e-3), 0), 1);
    const start = [home.x + along[0] * rims[0] * fit, home.y + along[1] * rims[0] * fit];
    return { start, along, right: [-along[1], along[0]], reach: length - (rims[0] + rims[1]) * fit };
  }

  // Pixels from a point to a flow; the screen's y goes down, so the right-hand side has the other sign.
  function distance(x, y, flow) {
    const { start, along, right, reach } = wayOf(flow);
    const [dx, dy] = [x - start[0], y - start[1]];
    const [at, aside] = [dx * along[0] + dy * along[1], dx * right[0] + dy * right[1] - shown.look.shape.gap];
    const past = Math.max(-at, at - reach, 0);
    const beside = Math.max(-aside, aside - Math.max(shown.data.widths[flow], LEAST_WIDTH_PX));
    return past > 0 ? Math.hypot(past, Math.max(beside, 0)) : beside;
  }

  function point({ clientX, clientY, buttons }, reach) {
    if (!shown?.data || !shown.layer || buttons) return false;
    const box = shown.map.getCanvas().getBoundingClientRect();
    const [x, y] = [clientX - box.left, clientY - box.top];
    const place = placeAt(x, y, 1);
    const flow = place < 0 ? nearest(x, y, reach) : -1;
    if (place >= 0) choosePlace(place, x, y);
    else if (flow >= 0) choose(flow, x, y);
    else leave();
    return place >= 0 || flow >= 0;
  }

  let resting = 0;

  // Light one flow, and say what it is.
  function choose(flow, x, y) {
    const { data } = shown;
    const [ends, count] = data.labels[flow].split("<br>");
    const error = data.errors[flow];
    const number = light(`flow ${flow}`, (one) => one === flow, (place) => [data.home[flow], data.work[flow]].includes(place), {
      title: ends,
      text: error ? `${count}, ${error}` : count,
    });
    if (number && !error) {
      clearTimeout(resting);
      resting = setTimeout(() => sayError(flow, number, count), ERROR_AFTER_MS);
    }
    putTip(x, y);
  }

  // Light the flows of one place, and say how many come and go.
  function choosePlace(place, x, y) {
    const { data } = shown;
    const isMine = (flow) => data.home[flow] === place || data.work[flow] === place;
    const ends = new Set([place]);
    data.workers.forEach((_, flow) => isMine(flow) && ends.add(data.home[flow]).add(data.work[flow]));
    light(`place ${place}`, isMine, (other) => ends.has(other), {
      title: data.names[place],
      text: `${data.come[place].toLocaleString("en-US")} come in to work`,
      more: `${data.go[place].toLocaleString("en-US")} go out to work`,
    });
    putTip(x, y);
  }

  // Dim all but some flows and places; returns the line of the tooltip that has the number, if it is new.
  function light(key, isFlow, isPlace, { title, text, more }) {
    const { map, layer } = shown;
    if (shown.chosen === key) return null;
    shown.chosen = key;
    layer.light(isFlow, isPlace);
    map.triggerRepaint();
    const number = Object.assign(document.createElement("div"), { textContent: text });
    const lines = [Object.assign(document.createElement("b"), { textContent: title }), number];
    if (more) lines.push(Object.assign(document.createElement("div"), { textContent: more }));
    tipOf(map).replaceChildren(...lines);
    return number;
  }

  function putTip(x, y) {
    const { map } = shown;
    const tip = tipOf(map);
    tip.hidden = false;
    const { clientWidth: width, clientHeight: height } = map.getContainer();
    const left = Math.min(Math.max(x + TIP_GAP, 4), width - tip.offsetWidth - 4);
    const above = y - tip.offsetHeight - TIP_GAP;
    const top = above > 4 ? above : Math.min(y + TIP_GAP, height - tip.offsetHeight - 4);
    tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  async function sayError(flow, number, count) {
    const { address } = shown;
    const isWanted = () => shown?.address === address && shown.chosen === `flow ${flow}`;
    const answer = await window.commutemap.patiently([`${address}&line=${flow}`], isWanted).catch(() => null);
    if (!answer?.ok) return;
    const { error } = await answer.json();
    if (isWanted() && error) number.textContent = `${count}, ${error}`;
  }

  // The pointer has left: light the place that was chosen in the list, or all.
  function leave(isAll = false) {
    clearTimeout(resting);
    if (!shown?.layer || !shown.data) return;
    const pinned = isAll ? -1 : shown.data.names.indexOf(shown.pinned ?? "");
    if (pinned >= 0) {
      const { x, y } = spots()[pinned];
      return choosePlace(pinned, x, y);
    }
    if (!shown.chosen) return;
    shown.chosen = null;
    shown.layer.light(null, null);
    tipOf(shown.map).hidden = true;
    shown.map.triggerRepaint();
  }

  function tipOf(map) {
    const held = map.getContainer().querySelector(".flow-tip");
    if (held) return held;
    const tip = Object.assign(document.createElement("div"), { className: "flow-tip", hidden: true });
    tip.setAttribute("role", "status");
    map.getContainer().append(tip);
    return tip;
  }

  // A tap on a flow shows it instead of choosing the area below; a tap elsewhere hides it.
  function tapped(event) {
    if (event.pointerType !== "touch" || !shown?.data) return false;
    return point({ clientX: event.clientX, clientY: event.clientY, buttons: 0 }, 2 * NEAR_PX);
  }

  // A native slider, whose value is a position in the list of numbers that the server offers, and a list of places, from
  // which the keyboard reaches the flows of each.
  function placeSlider() {
    const { look } = shown;
    let box = document.getElementById("flow-slider");
    if (!box) {
      box = Object.assign(document.createElement("div"), { id: "flow-slider", className: "flow-slider" });
      const label = Object.assign(document.createElement("label"), { htmlFor: "least", textContent: "Smallest flow" });
      const input = Object.assign(document.createElement("input"), { id: "least", type: "range", min: 0, step: 1 });
      const said = Object.assign(document.createElement("output"), { htmlFor: "least" });
      const name = Object.assign(document.createElement("label"), { htmlFor: "flow-place", textContent: "Flows of" });
      const places = Object.assign(document.createElement("select"), { id: "flow-place" });
      box.append(label, input, said, name, places);
      input.addEventListener("input", () => {
        say(box);
        if (shown?.layer && shown.data) preview(shown.look.steps[Number(input.value)]);
      });
      input.addEventListener("change", () => window.commutemap.act("least", shown.look.steps[Number(input.value)]));
      places.addEventListener("change", () => {
        shown.pinned = places.value;
        leave();
      });
      document.getElementById("field-matrix")?.after(box);
    }
    const input = box.querySelector("input");
    input.max = look.steps.length - 1;
    if (!window.commutemap.isWaiting()) input.value = look.steps.indexOf(look.least);
    say(box);
  }

  // The places of the list, largest first; a choice is kept while the place is on the map.
  function offerPlaces() {
    const { data } = shown;
    const list = document.getElementById("flow-place");
    if (!list) return;
    const total = (place) => data.come[place] + data.go[place];
    const order = data.names.map((_, place) => place).sort((one, other) => total(other) - total(one));
    const names = [...new Set(order.map((place) => data.names[place]))];
    list.replaceChildren(new Option("all places", ""), ...names.map((name) => new Option(name, name)));
    if (!names.includes(shown.pinned)) shown.pinned = "";
    list.value = shown.pinned;
  }

  function say(box) {
    const input = box.querySelector("input");
    const least = shown.look.steps[Number(input.value)];
    const text = `${least.toLocaleString("en-US")} worker${least === 1 ? "" : "s"}`;
    input.setAttribute("aria-valuetext", text);
    box.querySelector("output").textContent = text;
  }

  // Where the middle of a flow is on the map, pixels; 0 is the largest flow.
  function middleOf(flow) {
    const { start, along, right, reach } = wayOf(flow);
    const aside = shown.look.shape.gap + shown.data.widths[flow] / 3;
    return {
      x: start[0] + (along[0] * reach) / 2 + right[0] * aside,
      y: start[1] + (along[1] * reach) / 2 + right[1] * aside,
    };
  }

  // Where a place is on the map, pixels, by its name.
  const middleOfPlace = (name) => spots()[shown.data.names.indexOf(name)];

  Object.assign((window.commutemap ??= {}), {
    showFlows: show,
    flowsDrawn: isDrawn,
    flowCircles: boxesOfCircles,
    tappedFlow: tapped,
    drawFlows: (data) => {
      Object.assign(shown, { data, spots: null });
      put();
    },
    middleOfFlow: middleOf,
    middleOfPlace,
  });
})();

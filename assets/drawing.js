// Areas drawn on the map with a mouse, a finger, a pen, or the arrow keys.
//
// A polygon and a line are drawn corner by corner; a circle, a box, and a freehand area by dragging. Corners are kept as
// places, not as pixels, so that the map can be zoomed while an area is drawn.

(() => {
  const CLOSE = 3; // pixels between two corners of a freehand area
  const SMALLEST = 12; // pixels; anything smaller is a click, not a drag
  const STEP = 10; // pixels that an arrow key moves the pointer; with Shift five times as many
  const MILES_PER_RADIAN = 3958.7613;
  const RADIAN = Math.PI / 180;
  const fingers = window.matchMedia("(pointer: coarse)");
  const TOOLS = {
    polygon: { by: "corners", fewest: 3, hint: ["Click each corner.", "Tap each corner."] },
    circle: { by: "drag", hint: ["Press in the middle, and drag outwards.", "Press in the middle, and drag outwards."] },
    box: { by: "drag", hint: ["Drag from corner to corner.", "Drag from corner to corner."] },
    lasso: { by: "trace", hint: ["Draw around an area.", "Draw around an area."] },
    line: { by: "corners", fewest: 2, hint: ["Click along the line.", "Tap along the line."] },
  };
  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const SVG = "http://www.w3.org/2000/svg";
  let drawing = null; // the area that is being drawn

  const mapOf = () => document.querySelector("#map .js-plotly-plot")?._fullLayout?.map?._subplot?.map;
  const pixels = (place) => {
    const { x, y } = drawing.map.project(place);
    return [x, y];
  };
  const placeAt = (point) => {
    const { lng, lat } = drawing.map.unproject(point);
    return [lng, lat].map((degrees) => Number(degrees.toFixed(5)));
  };
  const distance = ([x, y], [u, v]) => Math.hypot(x - u, y - v);
  const apart = (place, other) => distance(pixels(place), pixels(other));

  document.addEventListener("click", ({ target }) => {
    const { draw } = target.closest?.("[data-draw]")?.dataset ?? {};
    if (draw) (drawing?.kind === draw ? stop : start)(draw);
  });
  document.addEventListener("keydown", onKey);

  function start(kind) {
    stop();
    const map = mapOf();
    if (!map) return;
    const board = element("div", "drawing-board", { tabIndex: -1 });
    board.dataset.kind = kind;
    const sketch = document.createElementNS(SVG, "svg");
    const [halo, ink] = ["halo", "ink"].map((name) => sketch.appendChild(shape("path", name)));
    const dots = sketch.appendChild(shape("g", "corners"));
    const hint = element("div", "drawing-hint");
    const said = hint.appendChild(element("span", "drawing-said", { role: "status" }));
    board.append(sketch, hint);
    document.getElementById("map-part").append(board);
    drawing = { kind, tool: TOOLS[kind], map, board, halo, ink, dots, said, corners: [], pointer: null, pressed: null };
    addButtons(hint);
    for (const [event, act] of Object.entries({ pointerdown, pointermove, pointerup, dblclick, wheel })) {
      board.addEventListener(event, act, { passive: event === "wheel" });
    }
    board.addEventListener("pointercancel", () => stop());
    map.on("move", sketchAgain);
    mark(kind);
    sketchAgain();
    board.focus({ preventScroll: true });
  }

  function addButtons(hint) {
    const buttons = { done: ["Done", finish], back: ["Undo corner", takeBack], cancel: ["Cancel", stop] };
    for (const [name, [text, act]] of Object.entries(buttons)) {
      if (name !== "cancel" && drawing.tool.by !== "corners") continue;
      const button = hint.appendChild(element("button", `drawing-${name}`, { type: "button", textContent: text }));
      button.addEventListener("click", () => act());
      drawing[name] = button;
    }
  }

  function stop() {
    if (!drawing) return;
    const { board, map, kind } = drawing;
    map.off("move", sketchAgain);
    const hadFocus = board.contains(document.activeElement);
    board.remove();
    drawing = null;
    mark("");
    if (hadFocus) document.querySelector(`[data-draw="${kind}"]`)?.focus({ preventScroll: true });
  }

  function mark(kind) {
    for (const button of document.querySelectorAll("[data-draw]")) {
      button.setAttribute("aria-pressed", button.dataset.draw === kind);
    }
  }

  // The pointer. A click is where it was released, if it did not move far.
  const isOnHint = ({ target }) => target.closest?.(".drawing-hint");
  const under = ({ clientX, clientY }) => {
    const { left, top } = drawing.board.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };

  function pointerdown(event) {
    if (event.button || !event.isPrimary || isOnHint(event)) return;
    drawing.board.setPointerCapture(event.pointerId);
    drawing.pressed = under(event);
    if (drawing.tool.by !== "corners" && !drawing.corners.length) drawing.corners = [placeAt(drawing.pressed)];
  }

  function pointermove(event) {
    if (isOnHint(event) || !event.isPrimary) return;
    const point = under(event);
    drawing.pointer = placeAt(point);
    const { tool, pressed, corners } = drawing;
    if (tool.by === "trace" && pressed && distance(point, pixels(corners.at(-1))) >= CLOSE) corners.push(placeAt(point));
    sketchAgain();
  }

  function pointerup(event) {
    if (!drawing.pressed) return;
    const [point, dragged] = [under(event), distance(under(event), drawing.pressed) >= SMALLEST];
    drawing.pressed = null;
    drawing.pointer = placeAt(point);
    if (drawing.tool.by === "corners") return addCorner(placeAt(point));
    if (drawing.tool.by === "trace") return dragged || drawing.corners.length > SMALLEST ? finish() : startAgain();
    if (dragged || apart(drawing.corners[0], drawing.pointer) >= SMALLEST) finish();
    else sketchAgain(); // a click in the middle: the next click ends it
  }

  function dblclick(event) {
    if (!isOnHint(event) && drawing?.tool.by === "corners") finish();
  }

  // The map below takes the wheel.
  function wheel(event) {
    drawing.map.getCanvasContainer().dispatchEvent(new WheelEvent("wheel", event));
  }

  function onKey(event) {
    if (!drawing) return;
    const { target, key } = event;
    if (target.closest?.("input, textarea, select")) return;
    if (key === "Escape") stop();
    else if (key === "Enter" && target.tagName !== "BUTTON") finish();
    else if (key === "Backspace") takeBack();
    else if (key === " " && target.tagName !== "BUTTON") press();
    else if (KEYS[key]) moveBy(KEYS[key], event.shiftKey ? 5 * STEP : STEP);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // The arrow keys move the pointer, and the space bar presses it.
  function moveBy([right, down], step) {
    const { clientWidth, clientHeight } = drawing.board;
    const [x, y] = drawing.pointer ? pixels(drawing.pointer) : [clientWidth / 2, clientHeight / 2];
    drawing.pointer = placeAt([x + right * step, y + down * step]);
    if (drawing.tool.by === "trace" && drawing.corners.length) drawing.corners.push(drawing.pointer);
    sketchAgain();
  }

  function press() {
    const { clientWidth, clientHeight } = drawing.board;
    drawing.pointer ??= placeAt([clientWidth / 2, clientHeight / 2]);
    if (drawing.tool.by === "corners") return addCorner(drawing.pointer);
    if (drawing.corners.length) return finish();
    drawing.corners = [drawing.pointer];
    sketchAgain();
  }

  // A corner; the first one again ends a polygon. The second click of a double click adds none.
  function addCorner(place) {
    const { corners, tool, kind } = drawing;
    if (kind === "polygon" && corners.length >= tool.fewest && apart(place, corners[0]) < SMALLEST) return finish();
    if (!corners.length || apart(place, corners.at(-1)) > CLOSE) corners.push(place);
    sketchAgain();
  }

  function takeBack() {
    if (drawing.tool.by === "corners") drawing.corners.pop();
    sketchAgain();
  }

  function startAgain() {
    drawing.corners = [];
    sketchAgain();
  }

  // What was drawn becomes an area, if it is large enough.
  function finish() {
    const drawn = drawnArea();
    if (!drawn) return sketchAgain();
    stop();
    window.commutemap.act("drawn", drawn);
  }

  function drawnArea() {
    const { kind, tool, corners, pointer } = drawing;
    if (tool.by === "drag") {
      if (!corners.length || !pointer || apart(corners[0], pointer) < SMALLEST) return null;
      return kind === "circle" ? { center: corners[0], miles: miles(corners[0], pointer) } : { points: [corners[0], pointer] };
    }
    if (corners.length < (tool.fewest ?? 3)) return null;
    return kind === "line" ? { points: corners, line: true } : { points: [...corners, corners[0]] };
  }

  // The sketch: the same path twice, so that it is seen on any color, and a dot at each corner.
  function sketchAgain() {
    const { kind, tool, corners, pointer, halo, ink, dots } = drawing;
    const open = tool.by === "trace" || !corners.length || !pointer ? corners : [...corners, pointer];
    const path = pathOf(kind, open.map(pixels));
    for (const one of [halo, ink]) one.setAttribute("d", path);
    const shown = tool.by === "corners" || kind === "circle" ? corners : [];
    dots.replaceChildren(...[...shown, ...(pointer ? [pointer] : [])].map((place) => dotAt(pixels(place))));
    tell(open);
  }

  function pathOf(kind, points) {
    if (!points.length) return "";
    const [[x, y], [u, v] = points[0]] = points;
    if (kind === "circle") {
      const radius = distance([x, y], [u, v]);
      const half = `a${radius},${radius} 0 1,0`;
      return `M${x - radius},${y}${half} ${2 * radius},0${half} ${-2 * radius},0ZM${x},${y}L${u},${v}`;
    }
    if (kind === "box") return `M${x},${y}H${u}V${v}H${x}Z`;
    return `M${points.map((point) => point.join()).join("L")}${kind === "line" || points.length < 3 ? "" : "Z"}`;
  }

  function dotAt([cx, cy]) {
    const dot = shape("circle", "corner");
    for (const [name, value] of Object.entries({ cx, cy, r: 5 })) dot.setAttribute(name, value);
    return dot;
  }

  function tell(places) {
    const { kind, tool, corners, said, done, back } = drawing;
    const isReady = corners.length >= (tool.fewest ?? 1);
    const size = places.length > 1 ? sizeOf(kind, places) : "";
    said.textContent = size && (isReady || kind === "line") ? size : tool.hint[Number(fingers.matches)];
    if (done) done.disabled = !isReady;
    if (back) back.disabled = !corners.length;
  }

  function sizeOf(kind, places) {
    if (kind === "circle") return `${number(miles(places[0], places.at(-1)))} miles`;
    if (kind === "line") return `${number(places.slice(1).reduce((sum, one, at) => sum + miles(places[at], one), 0))} miles`;
    const [west, north] = places[0];
    const [east, south] = places.at(-1);
    return `${number(squareMiles(kind === "box" ? [[west, north], [east, north], [east, south], [west, south]] : places))} square miles`;
  }

  const number = (value) => (value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US"));

  // Along a great circle, as the server measures radii.
  function miles(place, other) {
    const [west, south, east, north] = [...place, ...other].map((degrees) => degrees * RADIAN);
    const half = (one, next) => Math.sin((next - one) / 2) ** 2;
    const hav = half(south, north) + Math.cos(south) * Math.cos(north) * half(west, east);
    return 2 * MILES_PER_RADIAN * Math.asin(Math.sqrt(hav));
  }

  // Of a polygon on a cylinder on which areas are as on the sphere.
  function squareMiles(places) {
    const flat = places.map(([lng, lat]) => [lng * RADIAN, Math.sin(lat * RADIAN)]);
    const twice = flat.reduce((sum, [x, y], at) => {
      const [u, v] = flat[(at + 1) % flat.length];
      return sum + x * v - u * y;
    }, 0);
    return (Math.abs(twice) / 2) * MILES_PER_RADIAN ** 2;
  }

  function shape(name, className) {
    const made = document.createElementNS(SVG, name);
    made.setAttribute("class", className);
    return made;
  }

  function element(name, className, { role, ...props } = {}) {
    const made = Object.assign(document.createElement(name), { className, ...props });
    if (role) made.setAttribute("role", role);
    return made;
  }
})();

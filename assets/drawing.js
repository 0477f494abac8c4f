// Areas drawn with a finger, a pen or a mouse: a lasso, or a circle from its center outwards.

(() => {
  const CLOSE = 3; // pixels between two corners of a lasso
  const SMALLEST = 12; // pixels; anything smaller is a slip of the finger
  const MILES_PER_RADIAN = 3958.7613;
  const HINTS = {
    lasso: "Draw around an area.",
    circle: "Press in the middle, and drag outwards.",
  };
  const SVG = "http://www.w3.org/2000/svg";
  let board = null; // what lies over the map while an area is drawn

  const mapOf = () => document.querySelector("#map .js-plotly-plot")?._fullLayout?.map?._subplot?.map;

  document.addEventListener("click", ({ target }) => {
    const { draw } = target.closest?.("[data-draw]")?.dataset ?? {};
    if (draw) (board?.dataset.kind === draw ? stop : start)(draw);
  });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && stop());

  function start(kind) {
    stop();
    const map = mapOf();
    if (!map) return;
    board = document.createElement("div");
    board.className = "drawing-board";
    board.dataset.kind = kind;
    const sketch = document.createElementNS(SVG, "svg");
    const line = document.createElementNS(SVG, kind === "circle" ? "circle" : "polyline");
    sketch.append(line);
    const hint = Object.assign(document.createElement("div"), { className: "drawing-hint", textContent: HINTS[kind] });
    hint.setAttribute("role", "status");
    board.append(sketch, hint);
    document.getElementById("map-part").append(board);
    mark(kind);
    let points = [];
    const at = ({ clientX, clientY }) => {
      const { left, top } = board.getBoundingClientRect();
      return [clientX - left, clientY - top];
    };
    board.addEventListener("pointerdown", (event) => {
      if (points.length || event.button) return;
      board.setPointerCapture(event.pointerId);
      points = [at(event)];
    });
    board.addEventListener("pointermove", (event) => {
      if (!points.length) return;
      const next = at(event);
      if (kind === "circle") points[1] = next;
      else if (distance(next, points.at(-1)) >= CLOSE) points.push(next);
      sketchAs(kind, line, points);
      if (kind === "circle") hint.textContent = `${miles(map, points).toFixed(1)} miles`;
    });
    board.addEventListener("pointercancel", () => stop());
    board.addEventListener("pointerup", () => {
      const drawn = points.length > 1 ? drawnAs(kind, map, points) : null;
      if (drawn) {
        stop();
        window.commutemap.act("drawn", drawn);
      } else {
        points = [];
        hint.textContent = HINTS[kind];
      }
    });
  }

  function stop() {
    board?.remove();
    board = null;
    mark("");
  }

  function mark(kind) {
    for (const button of document.querySelectorAll("[data-draw]")) {
      button.setAttribute("aria-pressed", button.dataset.draw === kind);
    }
  }

  const distance = ([x, y], [u, v]) => Math.hypot(x - u, y - v);

  function sketchAs(kind, line, points) {
    if (kind === "lasso") return line.setAttribute("points", points.map((point) => point.join()).join(" "));
    const [[x, y]] = points;
    for (const [name, value] of Object.entries({ cx: x, cy: y, r: distance(...points) })) line.setAttribute(name, value);
  }

  function drawnAs(kind, map, points) {
    const extent = Math.max(...points.map((point) => distance(point, points[0])));
    if (extent < SMALLEST) return null;
    if (kind === "circle") return { center: place(map, points[0]), miles: miles(map, points) };
    return points.length < 3 ? null : { points: [...points, points[0]].map((point) => place(map, point)) };
  }

  function place(map, point) {
    const { lng, lat } = map.unproject(point);
    return [lng, lat].map((degrees) => Number(degrees.toFixed(5)));
  }

  // Along a great circle, as the server measures radii.
  function miles(map, points) {
    const [[west, south], [east, north]] = points.map((point) => place(map, point).map((one) => (one * Math.PI) / 180));
    const half = (one, other) => Math.sin((other - one) / 2) ** 2;
    const hav = half(south, north) + Math.cos(south) * Math.cos(north) * half(west, east);
    return 2 * MILES_PER_RADIAN * Math.asin(Math.sqrt(hav));
  }
})();

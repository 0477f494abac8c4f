// Flows on the map: curved lines from homes to workplaces, as wide as they are large, drawn by the graphics card.
//
// A line of the map library has one width from end to end. So the flows are a layer of our own: each is a strip of
// triangles that a vertex shader bends and tapers, with its width in pixels at any zoom. The server groups places that
// would overlap; after a zoom, the script asks for the groups of the new zoom level.

(() => {
  const LAYER = "flows";
  const STEPS = 12; // pieces of a curve
  const NEAR_PX = 5; // from a flow to a mouse pointer; twice that to a finger
  const LEAST_WIDTH_PX = 0.8;
  const DIM = 0.25;
  const ERROR_AFTER_MS = 200; // that the pointer rests on a flow
  const TIP_GAP = 14;
  let shown = null; // what is on the map: { map, plot, url, look, data, layer, … }

  const VERTEX = `#version 300 es
    uniform mat4 u_matrix;
    uniform vec2 u_size;
    uniform float u_bow, u_taper, u_ratio;
    in vec4 a_ends;
    in vec2 a_look;
    in vec2 a_at;
    out float v_aside, v_half;
    flat out float v_strength;
    vec2 on_screen(vec2 place) {
      vec4 at = u_matrix * vec4(place, 0.0, 1.0);
      return at.xy / at.w * u_size / 2.0;
    }
    void main() {
      vec2 home = on_screen(a_ends.xy), work = on_screen(a_ends.zw);
      vec2 along = work - home;
      vec2 bend = (home + work) / 2.0 + 2.0 * u_bow * vec2(along.y, -along.x);
      float t = a_at.x;
      vec2 center = mix(mix(home, bend, t), mix(bend, work, t), t);
      vec2 tangent = mix(bend - home, work - bend, t);
      vec2 aside = length(tangent) > 0.0 ? normalize(vec2(-tangent.y, tangent.x)) : vec2(0.0);
      float thick = max(a_look.x * mix(1.0, u_taper, t), ${LEAST_WIDTH_PX.toFixed(1)}) * u_ratio / 2.0;
      v_half = thick;
      v_aside = a_at.y * (thick + 1.0);
      v_strength = a_look.y;
      gl_Position = vec4((center + aside * v_aside) / u_size * 2.0, 0.0, 1.0);
    }`;

  const FRAGMENT = `#version 300 es
    precision highp float;
    uniform vec3 u_faint, u_strong;
    uniform vec2 u_opacity;
    uniform float u_dim;
    in float v_aside, v_half;
    flat in float v_strength;
    out vec4 color;
    void main() {
      float edge = clamp(v_half - abs(v_aside) + 0.5, 0.0, 1.0);
      bool chosen = u_dim > 1.0;
      float alpha = (chosen ? 0.95 : mix(u_opacity.x, u_opacity.y, v_strength) * u_dim) * edge;
      color = vec4(mix(u_faint, u_strong, chosen ? 1.0 : v_strength) * alpha, alpha);
    }`;

  // The layer that the map library calls back to draw. Flows are in order of size, so the largest end up on top.
  function flowLayer() {
    let gl, program, strip, flows, spots;
    const data = { origin: [0, 0], count: 0, first: 0, chosen: -1, look: null };
    return {
      id: LAYER,
      type: "custom",
      renderingMode: "2d",
      data,
      onAdd(map, context) {
        gl = context;
        program = link(gl);
        spots = (name) => gl.getUniformLocation(program, name);
        strip = gl.createBuffer();
        gl.bindBuffer(gl.ARRAY_BUFFER, strip);
        const corners = Array.from({ length: STEPS + 1 }, (_, step) => [step / STEPS, 1, step / STEPS, -1]).flat();
        gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners), gl.STATIC_DRAW);
        flows = gl.createBuffer();
      },
      onRemove() {
        gl.deleteBuffer(strip);
        gl.deleteBuffer(flows);
        gl.deleteProgram(program);
      },
      fill(values, origin) {
        gl.bindBuffer(gl.ARRAY_BUFFER, flows);
        gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
        Object.assign(data, { origin, count: values.length / 6, chosen: -1 });
      },
      render(_, given) {
        if (!data.count || !data.look) return;
        const matrix = moved(given.defaultProjectionData?.mainMatrix ?? given, data.origin);
        const { look } = data;
        gl.useProgram(program);
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
        gl.disable(gl.DEPTH_TEST);
        gl.disable(gl.CULL_FACE);
        gl.uniformMatrix4fv(spots("u_matrix"), false, matrix);
        gl.uniform2f(spots("u_size"), gl.drawingBufferWidth, gl.drawingBufferHeight);
        gl.uniform1f(spots("u_ratio"), gl.drawingBufferWidth / gl.canvas.clientWidth);
        gl.uniform1f(spots("u_bow"), look.bow);
        gl.uniform1f(spots("u_taper"), look.taper);
        gl.uniform2f(spots("u_opacity"), ...look.opacity);
        gl.uniform3f(spots("u_faint"), ...rgb(look.colors[0]));
        gl.uniform3f(spots("u_strong"), ...rgb(look.colors[1]));
        const array = gl.createVertexArray();
        gl.bindVertexArray(array);
        draw(data.first, data.count - data.first, data.chosen < 0 ? 1 : DIM);
        if (data.chosen >= data.first) draw(data.chosen, 1, 2);
        gl.bindVertexArray(null);
        gl.deleteVertexArray(array);
      },
    };

    function draw(first, count, dim) {
      if (count <= 0) return;
      gl.uniform1f(spots("u_dim"), dim);
      const attribute = (name, buffer, size, stride, offset, divisor) => {
        const at = gl.getAttribLocation(program, name);
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.enableVertexAttribArray(at);
        gl.vertexAttribPointer(at, size, gl.FLOAT, false, stride, offset);
        gl.vertexAttribDivisor(at, divisor);
      };
      attribute("a_at", strip, 2, 8, 0, 0);
      attribute("a_ends", flows, 4, 24, 24 * first, 1);
      attribute("a_look", flows, 2, 24, 24 * first + 16, 1);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 2 * (STEPS + 1), count);
    }
  }

  function link(gl) {
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    return program;
  }

  // Places are relative to an origin near them, because a 32-bit number is too coarse for a world in one unit.
  function moved(matrix, [x, y]) {
    const result = Array.from(matrix);
    for (let row = 0; row < 4; row += 1) result[12 + row] += matrix[row] * x + matrix[4 + row] * y;
    return new Float32Array(result);
  }

  const rgb = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16) / 255);

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
    Object.assign(shown, { look: null, data: null, address: null, wanted: null, layer: null });
    leave();
    document.getElementById("flow-slider")?.remove();
  }

  const watched = new WeakSet();

  function watch(map, plot) {
    if (watched.has(map)) return;
    watched.add(map);
    map.on("zoomend", () => shown?.look && load());
    map.on("move", () => shown && ((shown.spots = null), leave()));
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
    map.triggerRepaint();
  }

  function put() {
    const { map, data } = shown;
    if (!map.getLayer(LAYER)) {
      shown.layer = flowLayer();
      const above = map.getStyle().layers.find(({ id }) => id === "lit" || id.startsWith("plotly-layout-layer"));
      map.addLayer(shown.layer, above?.id); // borders of the chosen area stay on top
    }
    const n = data.workers.length;
    const places = data.lon.map((lon, at) => mercator(lon, data.lat[at]));
    const origin = places[0] ?? [0, 0];
    const values = new Float32Array(6 * n);
    for (let flow = 0; flow < n; flow += 1) {
      const [home, work] = [places[data.home[flow]], places[data.work[flow]]];
      const from = 6 * (n - 1 - flow); // the largest comes last
      values[from] = home[0] - origin[0];
      values[from + 1] = home[1] - origin[1];
      values[from + 2] = work[0] - origin[0];
      values[from + 3] = work[1] - origin[1];
      values[from + 4] = data.widths[flow];
      values[from + 5] = data.strengths[flow];
    }
    shown.layer.fill(values, origin);
    dress();
  }

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

  function nearest(x, y, reach) {
    const { data, layer } = shown;
    const places = spots();
    let found = -1;
    let least = reach;
    for (let flow = 0; flow < data.workers.length - layer.data.first; flow += 1) {
      const [home, work] = [places[data.home[flow]], places[data.work[flow]]];
      const room = 0.15 * (Math.abs(home.x - work.x) + Math.abs(home.y - work.y)) + 10 + reach;
      if (x < Math.min(home.x, work.x) - room || x > Math.max(home.x, work.x) + room) continue;
      if (y < Math.min(home.y, work.y) - room || y > Math.max(home.y, work.y) + room) continue;
      const away = distance(x, y, home, work, data.widths[flow]);
      if (away < least) [found, least] = [flow, away];
      if (least <= 0) break; // inside a flow; smaller ones are below it
    }
    return found;
  }

  // Pixels from a point to the edge of a curve; the screen's y goes down, so the right-hand side has the other sign.
  function distance(x, y, home, work, width) {
    const { bow, taper } = shown.look;
    const [dx, dy] = [work.x - home.x, work.y - home.y];
    const [bx, by] = [(home.x + work.x) / 2 - 2 * bow * dy, (home.y + work.y) / 2 + 2 * bow * dx];
    let best = Infinity;
    let [px, py] = [home.x, home.y];
    for (let step = 1; step <= STEPS; step += 1) {
      const t = step / STEPS;
      const cx = (1 - t) ** 2 * home.x + 2 * t * (1 - t) * bx + t * t * work.x;
      const cy = (1 - t) ** 2 * home.y + 2 * t * (1 - t) * by + t * t * work.y;
      const [ux, uy] = [cx - px, cy - py];
      const along = Math.min(Math.max(((x - px) * ux + (y - py) * uy) / (ux * ux + uy * uy || 1), 0), 1);
      const half = Math.max(width * (1 - (1 - taper) * t), LEAST_WIDTH_PX) / 2;
      best = Math.min(best, Math.hypot(x - px - along * ux, y - py - along * uy) - half);
      [px, py] = [cx, cy];
    }
    return best;
  }

  function point({ clientX, clientY, buttons }, reach) {
    if (!shown?.data || !shown.layer || buttons) return false;
    const box = shown.map.getCanvas().getBoundingClientRect();
    const [x, y] = [clientX - box.left, clientY - box.top];
    const flow = nearest(x, y, reach);
    if (flow < 0) leave();
    else choose(flow, x, y);
    return flow >= 0;
  }

  let resting = 0;

  function choose(flow, x, y) {
    const { map, data, layer } = shown;
    const tip = tipOf(map);
    if (shown.chosen !== flow) {
      shown.chosen = flow;
      layer.data.chosen = data.workers.length - 1 - flow;
      map.triggerRepaint();
      const [ends, count] = data.labels[flow].split("<br>");
      const title = Object.assign(document.createElement("b"), { textContent: ends });
      const number = Object.assign(document.createElement("div"), { textContent: count });
      tip.replaceChildren(title, number);
      clearTimeout(resting);
      resting = setTimeout(() => sayError(flow, number, count), ERROR_AFTER_MS);
    }
    tip.hidden = false;
    const { clientWidth: width, clientHeight: height } = map.getContainer();
    const left = Math.min(Math.max(x + TIP_GAP, 4), width - tip.offsetWidth - 4);
    const above = y - tip.offsetHeight - TIP_GAP;
    const top = above > 4 ? above : Math.min(y + TIP_GAP, height - tip.offsetHeight - 4);
    tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  async function sayError(flow, number, count) {
    const { address } = shown;
    const isWanted = () => shown?.address === address && shown.chosen === flow;
    const answer = await window.commutemap.patiently([`${address}&line=${flow}`], isWanted).catch(() => null);
    if (!answer?.ok) return;
    const { error } = await answer.json();
    if (isWanted() && error) number.textContent = `${count}, ${error}`;
  }

  function leave() {
    clearTimeout(resting);
    if (!shown?.layer || shown.chosen === undefined || shown.chosen === null) return;
    shown.chosen = null;
    shown.layer.data.chosen = -1;
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

  // A native slider; its value is a position in the list of numbers that the server offers.
  function placeSlider() {
    const { look, plot } = shown;
    let box = document.getElementById("flow-slider");
    if (!box) {
      box = Object.assign(document.createElement("div"), { id: "flow-slider", className: "flow-slider" });
      const label = Object.assign(document.createElement("label"), { htmlFor: "least", textContent: "Smallest flow" });
      const input = Object.assign(document.createElement("input"), { id: "least", type: "range", min: 0, step: 1 });
      const said = Object.assign(document.createElement("output"), { htmlFor: "least" });
      box.append(label, input, said);
      input.addEventListener("input", () => {
        say(box);
        if (shown?.layer && shown.data) preview(shown.look.steps[Number(input.value)]);
      });
      input.addEventListener("change", () => window.commutemap.act("least", shown.look.steps[Number(input.value)]));
      const isNarrow = window.matchMedia("(max-width: 900px)").matches;
      (isNarrow ? document.getElementById("asked") : plot.closest("#map-part"))?.append(box);
    }
    const input = box.querySelector("input");
    input.max = look.steps.length - 1;
    if (!window.commutemap.isWaiting()) input.value = look.steps.indexOf(look.least);
    say(box);
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
    const { data, look } = shown;
    const [home, work] = [spots()[data.home[flow]], spots()[data.work[flow]]];
    const [dx, dy] = [work.x - home.x, work.y - home.y];
    return { x: (home.x + work.x) / 2 - look.bow * dy, y: (home.y + work.y) / 2 + look.bow * dx };
  }

  Object.assign((window.commutemap ??= {}), {
    showFlows: show,
    flowsDrawn: isDrawn,
    tappedFlow: tapped,
    drawFlows: (data) => {
      Object.assign(shown, { data, spots: null });
      put();
    },
    middleOfFlow: middleOf,
  });
})();

// The layer of flows: half-arrows and circles, drawn by the graphics card with all sizes in pixels at any zoom.
//
// A line of the map library has one width from end to end and no head. An arrow is a rectangle along its way, of which
// the shader fills what is inside the arrow; a circle is a square, of which it fills two discs.

(() => {
  const LAYER = "flows";
  const LEAST_WIDTH_PX = 0.9; // also in `flows.js`
  const DIM = 0.12;
  const FLOW = 9; // numbers of a flow in the graphics card's memory: ends, look, and whether it is lit
  const CIRCLE = 5;

  const PLACE = `
    uniform mat4 u_matrix;
    uniform vec2 u_size;
    uniform float u_ratio;
    vec2 on_screen(vec2 place) {
      vec4 at = u_matrix * vec4(place, 0.0, 1.0);
      return at.xy / at.w * u_size / 2.0;
    }`;

  const FLOW_VERTEX = `#version 300 es
    ${PLACE}
    uniform vec2 u_wide, u_long;
    uniform float u_gap, u_longest, u_shortest, u_pad;
    in vec4 a_ends;
    in vec4 a_look; // width, strength, radius at home, radius at work
    in float a_lit;
    in vec2 a_at;
    out vec2 v_at;
    flat out vec4 v_shape; // length, width, width of the head, length of the head
    flat out float v_strength, v_lit;
    void main() {
      vec2 home = on_screen(a_ends.xy), work = on_screen(a_ends.zw);
      float way = max(length(work - home), 0.001);
      vec2 along = (work - home) / way;
      vec2 right = vec2(along.y, -along.x);
      vec2 rims = a_look.zw * u_ratio;
      rims *= clamp((way - u_shortest * u_ratio) / max(rims.x + rims.y, 0.001), 0.0, 1.0);
      float reach = way - rims.x - rims.y;
      float width = max(a_look.x, ${LEAST_WIDTH_PX.toFixed(1)}) * u_ratio;
      vec2 wide = u_wide * vec2(1.0, u_ratio), wider = u_long * vec2(1.0, u_ratio);
      v_shape = vec4(reach, width, wide.x * width + wide.y, min(wider.x * width + wider.y, u_longest * reach));
      float pad = u_pad * u_ratio;
      v_at = vec2(mix(-pad, reach + pad, a_at.x), mix(-pad, v_shape.z + pad, a_at.y));
      v_strength = a_look.y;
      v_lit = a_lit;
      vec2 at = home + along * (rims.x + v_at.x) + right * (u_gap * u_ratio + v_at.y);
      gl_Position = vec4(at / u_size * 2.0, 0.0, 1.0);
    }`;

  const FLOW_FRAGMENT = `#version 300 es
    precision highp float;
    uniform vec3 u_faint, u_strong, u_halo;
    uniform vec2 u_opacity;
    uniform float u_taper, u_dim, u_pass, u_ratio;
    uniform bool u_glow;
    in vec2 v_at;
    flat in vec4 v_shape;
    flat in float v_strength, v_lit;
    out vec4 color;
    void main() {
      if (v_lit != u_pass) discard;
      float neck = v_shape.x - v_shape.w;
      float half_way = v_shape.y * mix(u_taper, 1.0, clamp(v_at.x / max(neck, 0.001), 0.0, 1.0));
      float body = min(min(half_way - v_at.y, v_at.y), min(v_at.x, neck + 1.0 - v_at.x));
      float slope = v_shape.z / max(v_shape.w, 0.001);
      float edge = (slope * (v_shape.x - v_at.x) - v_at.y) / sqrt(1.0 + slope * slope);
      float inside = max(body, min(min(edge, v_at.y), v_at.x - neck)); // pixels from the outline, positive inside
      float fill = clamp(inside + 0.5, 0.0, 1.0);
      float dim = v_lit > 0.5 ? 1.0 : u_dim;
      float opacity = (v_lit > 0.5 && u_dim < 1.0 ? 0.97 : mix(u_opacity.x, u_opacity.y, v_strength)) * dim;
      vec3 ink = mix(u_faint, u_strong, v_strength);
      if (u_glow) {
        float halo = 0.4 * exp(min(inside, 0.0) / (1.6 * u_ratio)) * (1.0 - fill);
        float alpha = (fill + halo) * opacity;
        color = vec4(ink * alpha, alpha);
        return;
      }
      float around = clamp(inside + 0.5 + 0.9 * u_ratio, 0.0, 1.0);
      color = vec4(mix(u_halo, ink, fill) * around * opacity, around * opacity);
    }`;

  const CIRCLE_VERTEX = `#version 300 es
    ${PLACE}
    in vec2 a_center;
    in vec2 a_radii; // of those who come in, and of those who go out
    in float a_lit;
    in vec2 a_at;
    out vec2 v_at;
    flat out vec2 v_radii;
    flat out float v_lit;
    void main() {
      v_radii = a_radii * u_ratio;
      v_lit = a_lit;
      v_at = vec2(mix(-1.0, 1.0, a_at.x), mix(-1.0, 1.0, a_at.y)) * (max(v_radii.x, v_radii.y) + 2.0 * u_ratio);
      gl_Position = vec4((on_screen(a_center) + v_at) / u_size * 2.0, 0.0, 1.0);
    }`;

  const CIRCLE_FRAGMENT = `#version 300 es
    precision highp float;
    uniform vec3 u_come, u_go, u_halo;
    uniform float u_dim, u_ratio;
    in vec2 v_at;
    flat in vec2 v_radii;
    flat in float v_lit;
    out vec4 color;
    void main() {
      float away = length(v_at);
      float outer = max(v_radii.x, v_radii.y), inner = min(v_radii.x, v_radii.y);
      bool is_come = v_radii.x > v_radii.y;
      vec3 ring = is_come ? u_come : u_go, disc = is_come ? u_go : u_come;
      vec3 ink = mix(ring, disc, clamp(inner - away + 0.5, 0.0, 1.0));
      ink = mix(u_halo, ink, clamp(outer - away + 0.5, 0.0, 1.0));
      float alpha = clamp(outer + u_ratio - away + 0.5, 0.0, 1.0) * (v_lit > 0.5 ? 1.0 : max(u_dim, 0.3));
      color = vec4(ink * alpha, alpha);
    }`;

  // The layer that the map library calls back to draw. Flows are in order of size, so the largest end up on top.
  function flowLayer() {
    let gl, arrows, discs, corners, flows, circles;
    const data = { origin: [0, 0], count: 0, first: 0, places: 0, values: null, rings: null, isDim: false, look: null };
    return {
      id: LAYER,
      type: "custom",
      renderingMode: "2d",
      data,
      onAdd(map, context) {
        gl = context;
        arrows = link(gl, FLOW_VERTEX, FLOW_FRAGMENT);
        discs = link(gl, CIRCLE_VERTEX, CIRCLE_FRAGMENT);
        corners = gl.createBuffer();
        gl.bindBuffer(gl.ARRAY_BUFFER, corners);
        gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
        [flows, circles] = [gl.createBuffer(), gl.createBuffer()];
      },
      onRemove() {
        for (const buffer of [corners, flows, circles]) gl.deleteBuffer(buffer);
        for (const program of [arrows, discs]) gl.deleteProgram(program);
      },
      // A flow is a list of both ends, its width and strength, and the radius of the circle at each end, the largest flow
      // first; a circle is a list of its center and its two radii.
      fill(listed, rings, origin) {
        const packed = (rows, size) => {
          const numbers = new Float32Array(size * rows.length);
          rows.forEach((row, at) => numbers.set(row, size * at));
          return numbers;
        };
        Object.assign(data, { origin, count: listed.length, places: rings.length });
        Object.assign(data, { values: packed([...listed].reverse(), FLOW), rings: packed(rings, CIRCLE) }); // the largest last
        this.light(null, null);
      },
      // Light some flows and places, given as functions of their positions; without them, all.
      light(isFlow, isPlace) {
        const { values, rings, count, places } = data;
        for (let at = 0; at < count; at += 1) values[FLOW * at + 8] = !isFlow || isFlow(count - 1 - at) ? 1 : 0;
        for (let at = 0; at < places; at += 1) rings[CIRCLE * at + 4] = !isPlace || isPlace(at) ? 1 : 0;
        data.isDim = Boolean(isFlow);
        for (const [buffer, numbers] of [[flows, values], [circles, rings]]) {
          gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
          gl.bufferData(gl.ARRAY_BUFFER, numbers, gl.DYNAMIC_DRAW);
        }
      },
      render(_, given) {
        const { look } = data;
        if (!look || !(data.count || data.places)) return;
        const matrix = moved(given.defaultProjectionData?.mainMatrix ?? given, data.origin);
        gl.enable(gl.BLEND);
        gl.disable(gl.DEPTH_TEST);
        gl.disable(gl.CULL_FACE);
        const array = gl.createVertexArray();
        gl.bindVertexArray(array);
        // On a dark ground, flows that cross add up to more light.
        gl.blendFunc(gl.ONE, look.glow ? gl.ONE_MINUS_SRC_COLOR : gl.ONE_MINUS_SRC_ALPHA);
        const of = begin(arrows, matrix);
        const { shape } = look;
        gl.uniform2f(of("u_wide"), ...shape.wide);
        gl.uniform2f(of("u_long"), ...shape.long);
        gl.uniform1f(of("u_gap"), shape.gap);
        gl.uniform1f(of("u_longest"), shape.longest);
        gl.uniform1f(of("u_shortest"), shape.shortest);
        gl.uniform1f(of("u_taper"), shape.taper);
        gl.uniform1f(of("u_pad"), look.glow ? 5 : 2);
        gl.uniform1i(of("u_glow"), look.glow ? 1 : 0);
        gl.uniform2f(of("u_opacity"), ...look.opacity);
        gl.uniform3f(of("u_faint"), ...rgb(look.colors[0]));
        gl.uniform3f(of("u_strong"), ...rgb(look.colors[1]));
        const fields = [["a_ends", 4], ["a_look", 4], ["a_lit", 1]];
        for (const pass of data.isDim ? [0, 1] : [1]) {
          gl.uniform1f(of("u_pass"), pass);
          draw(arrows, flows, fields, data.first, data.count - data.first);
        }
        gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
        const ring = begin(discs, matrix);
        gl.uniform3f(ring("u_come"), ...rgb(look.circles[0]));
        gl.uniform3f(ring("u_go"), ...rgb(look.circles[1]));
        draw(discs, circles, [["a_center", 2], ["a_radii", 2], ["a_lit", 1]], 0, data.places);
        gl.bindVertexArray(null);
        gl.deleteVertexArray(array);
      },
    };

    // Use a program, and set what both have; returns where its uniforms are.
    function begin(program, matrix) {
      const of = (name) => gl.getUniformLocation(program, name);
      gl.useProgram(program);
      gl.uniformMatrix4fv(of("u_matrix"), false, matrix);
      gl.uniform2f(of("u_size"), gl.drawingBufferWidth, gl.drawingBufferHeight);
      gl.uniform1f(of("u_ratio"), gl.drawingBufferWidth / gl.canvas.clientWidth);
      gl.uniform1f(of("u_dim"), data.isDim ? DIM : 1);
      gl.uniform3f(of("u_halo"), ...rgb(data.look.halo));
      return of;
    }

    function draw(program, buffer, fields, first, count) {
      if (count <= 0) return;
      const attribute = (name, source, size, stride, offset, divisor) => {
        const at = gl.getAttribLocation(program, name);
        gl.bindBuffer(gl.ARRAY_BUFFER, source);
        gl.enableVertexAttribArray(at);
        gl.vertexAttribPointer(at, size, gl.FLOAT, false, stride, offset);
        gl.vertexAttribDivisor(at, divisor);
      };
      attribute("a_at", corners, 2, 8, 0, 0);
      const stride = 4 * fields.reduce((sum, [, size]) => sum + size, 0);
      let offset = stride * first;
      for (const [name, size] of fields) {
        attribute(name, buffer, size, stride, offset, 1);
        offset += 4 * size;
      }
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
    }
  }

  function link(gl, vertex, fragment) {
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
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

  Object.assign((window.commutemap ??= {}), { flowLayer });
})();

// A morning: the workers of an answer move from home to work on a canvas over the map (`mapapp.show.content.morning`).
//
// The canvas is filled pixel by pixel, which a phone does 30 times a second for some thousand dots; drawing each dot
// through the canvas's own functions takes several times as long.

(() => {
  const { element } = window.commutemap;
  const MOST = { wide: 20_000, narrow: 5_000 }; // dots; the server allows no more than the first
  const NARROW = "(max-width: 900px)";
  const SECONDS = 7; // from night to day
  const FRAME_MS = 33;
  const STEPS = 65_535; // as in `mapapp.show.content.morning`
  const OPACITY = 120; // of a dot, of 255
  const SHADES = 64; // of a dot that changes its color on the way
  const STILL = window.matchMedia("(prefers-reduced-motion: reduce)");
  let shown = null; // what is open: { plot, map, url, data, at, canvas, box }

  // Called after the page has drawn a figure: offer the morning of its dots, or show it if the address says so.
  function show(plot, map) {
    const look = plot._fullLayout?.meta?.morning;
    const holder = plot.closest("#map")?.parentElement;
    if (!holder) return;
    offer(holder, look);
    if (!look?.is_open) return close();
    if (shown?.map === map && shown.url === look.url) return dimDots(map, true);
    close();
    open(plot, map, holder, look.url);
  }

  function offer(holder, look) {
    let button = holder.querySelector(":scope > .morning-open");
    if (!button) {
      button = element("button", "▶ A morning", "morning-open");
      button.type = "button";
      button.dataset.choice = "morning";
      button.title = "Watch the dots move from home to work";
      holder.append(button);
    }
    button.hidden = !look || look.is_open;
  }

  async function open(plot, map, holder, url) {
    const most = window.matchMedia(NARROW).matches ? MOST.narrow : MOST.wide;
    shown = { plot, map, url, at: 0, data: null, box: panel(holder), canvas: element("canvas", "", "morning-canvas") };
    const mine = shown;
    map.getCanvasContainer().append(mine.canvas); // below the names
    mine.redraw = () => paint(mine);
    map.on("move", mine.redraw);
    map.on("resize", mine.redraw);
    mine.dim = () => dimDots(map, true); // also the tiles of a figure that is drawn later
    map.on("styledata", mine.dim);
    mine.dim();
    const address = `${url}${url.includes("?") ? "&" : "?"}most=${most}`;
    const answer = await window.commutemap.patiently([address], () => shown === mine);
    if (shown !== mine) return;
    if (!answer.ok) {
      close();
      return window.commutemap.lack("map", plot._fullLayout?.meta?.address, answer.status);
    }
    mine.data = read(await answer.json());
    if (shown !== mine) return;
    say(mine.box, mine.data);
    move(mine, 0);
  }

  function close() {
    if (!shown) return;
    const { map, canvas, box, redraw, dim } = shown;
    cancelAnimationFrame(shown.frame);
    map.off("move", redraw);
    map.off("resize", redraw);
    map.off("styledata", dim);
    canvas.remove();
    box.remove();
    dimDots(map, false);
    shown = null;
  }

  // The tiles of all dots are away while some of them move.
  function dimDots(map, away) {
    for (const { id, type } of map.getStyle()?.layers ?? []) {
      if (type === "raster" && (map.getPaintProperty(id, "raster-opacity") === 0) !== away) {
        map.setPaintProperty(id, "raster-opacity", away ? 0 : 1);
      }
    }
  }

  function read({ box, steps, group, ...rest }) {
    const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const places = new Uint16Array(bytes(steps).buffer);
    return { ...rest, box, places, group: bytes(group) };
  }

  // The panel: Play, the slider, and what is counted at its ends.
  function panel(holder) {
    const box = element("section", "", "morning");
    box.setAttribute("aria-label", "A morning");
    const bar = element("div", "", "morning-bar");
    const play = element("button", "▶", "play");
    const slider = Object.assign(element("input"), { type: "range", min: 0, max: 1000, step: 1, value: 0 });
    const away = element("button", "×", "close");
    play.type = away.type = "button";
    play.setAttribute("aria-label", "Play");
    slider.setAttribute("aria-label", "From night to day");
    away.setAttribute("aria-label", "Close the morning");
    away.dataset.choice = "morning";
    bar.append(play, slider, away);
    const ends = element("div", "", "morning-ends");
    box.append(bar, ends, element("p"));
    play.addEventListener("click", () => (shown.frame ? pause(shown) : run(shown)));
    slider.addEventListener("input", () => {
      pause(shown);
      move(shown, Number(slider.value) / 1000);
    });
    holder.append(box);
    return box;
  }

  function say(box, { night, day, note }) {
    const end = (title, text) => {
      const said = element("span");
      said.append(element("b", title), text);
      return said;
    };
    box.querySelector(".morning-ends").replaceChildren(end("Night", night), end("Day", day));
    box.querySelector("p").textContent = note;
  }

  // From where it is to day; from day, again from night. Without motion, only the two ends are shown.
  function run(mine) {
    if (!mine.data) return;
    if (STILL.matches) return move(mine, mine.at < 1 ? 1 : 0);
    const from = mine.at < 1 ? mine.at : 0;
    let begun = null;
    let last = -Infinity;
    const step = (now) => {
      if (shown !== mine) return;
      begun ??= now;
      mine.frame = requestAnimationFrame(step);
      if (now - last < FRAME_MS - 4) return;
      last = now;
      const at = Math.min(from + (now - begun) / 1000 / SECONDS, 1);
      move(mine, at);
      if (at === 1) pause(mine);
    };
    mine.frame = requestAnimationFrame(step);
    label(mine, "Pause", "❚❚");
  }

  function pause(mine) {
    cancelAnimationFrame(mine.frame);
    mine.frame = 0;
    label(mine, "Play", "▶");
  }

  function label({ box }, words, sign) {
    const button = box.querySelector(".play");
    button.setAttribute("aria-label", words);
    button.textContent = sign;
  }

  function move(mine, at) {
    mine.at = at;
    const slider = mine.box.querySelector("input");
    slider.value = Math.round(1000 * at);
    slider.setAttribute("aria-valuetext", at === 0 ? "night" : at === 1 ? "day" : `${Math.round(100 * at)}% of the way`);
    paint(mine);
  }

  function paint({ map, canvas, data, at }) {
    if (!data) return;
    const { clientWidth: width, clientHeight: height } = map.getContainer();
    const ratio = Math.min(window.devicePixelRatio, 2);
    const wanted = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wanted[0] || canvas.height !== wanted[1]) [canvas.width, canvas.height] = wanted;
    drawDots(canvas, data, at, placesOf(map, data.box, ratio), Math.max(Math.round(dotOf(map.getZoom()) * ratio), 1));
  }

  const dotOf = (zoom) => Math.min(Math.max(1.6 + (zoom - 9) / 3, 1.6), 5);

  // Where the corners of the box are on the canvas. A map that is not tilted keeps straight lines straight.
  function placesOf(map, [west, north, east, south], ratio) {
    const lonLat = (x, y) => [360 * x - 180, (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI];
    const [corner, right, down] = [[west, north], [east, north], [west, south]].map(([x, y]) => map.project(lonLat(x, y)));
    return [corner.x, corner.y, right.x - corner.x, right.y - corner.y, down.x - corner.x, down.y - corner.y].map((n) => n * ratio);
  }

  // Fill the pixels of all dots that are `at` a part of their way, from 0 to 1.
  function drawDots(canvas, { places, group, colors }, at, [x, y, xRight, yRight, xDown, yDown], size) {
    const { width, height } = canvas;
    const context = canvas.getContext("2d");
    const image = canvas.image?.width === width && canvas.image.height === height ? canvas.image : context.createImageData(width, height);
    canvas.image = image;
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(0);
    const eased = at * at * (3 - 2 * at);
    const shades = colors.map(([home, work]) => shade(home, work, Math.round(eased * SHADES) / SHADES));
    const half = (size - 1) / 2;
    const isRound = size > 2;
    for (let dot = 0; dot < group.length; dot += 1) {
      const first = 4 * dot;
      const right = (places[first] + (places[first + 2] - places[first]) * eased) / STEPS;
      const down = (places[first + 1] + (places[first + 3] - places[first + 1]) * eased) / STEPS;
      const left = Math.round(x + right * xRight + down * xDown - half);
      const top = Math.round(y + right * yRight + down * yDown - half);
      if (left < 0 || top < 0 || left + size > width || top + size > height) continue;
      const color = shades[group[dot]];
      for (let row = 0; row < size; row += 1) {
        const cut = isRound && (row === 0 || row === size - 1) ? 1 : 0;
        const start = (top + row) * width + left;
        for (let at = start + cut; at < start + size - cut; at += 1) {
          pixels[at] = ((Math.min((pixels[at] >>> 24) + OPACITY, 240) << 24) | color) >>> 0; // dots add up
        }
      }
    }
    context.putImageData(image, 0, 0);
  }

  // The color between two, as a clear pixel with its bytes in the order red, green, blue, opacity.
  function shade(home, work, share) {
    const part = (text, at) => parseInt(text.slice(at, at + 2), 16);
    const mixed = [1, 3, 5].map((at) => Math.round(part(home, at) + (part(work, at) - part(home, at)) * share));
    return (mixed[2] << 16) | (mixed[1] << 8) | mixed[0];
  }

  window.commutemap = Object.assign(window.commutemap ?? {}, { showMorning: show, morning: () => shown });
})();

// Draws the legend of the map's figure (`layout.meta.legend`, see `mapapp.show.content.legend`) over its lower left.
// On a narrow screen it is a button with a small picture of its colors; pressing it opens the legend.

(() => {
  const { element } = window.commutemap;
  const GAP = 8; // pixels between the legend and the caption
  const WIDEST = 11; // pixels; a thicker line shows as this
  let isOpen = false; // on a narrow screen

  function show(plot) {
    const card = cardOf(plot);
    const { legend = null, hatched } = plot._fullLayout?.meta ?? {};
    const key = JSON.stringify([legend, hatched?.color]);
    if (card.dataset.key !== key) {
      card.dataset.key = key;
      card.hidden = !legend;
      card.replaceChildren(...(legend ? [chip(legend), body(legend)] : []));
      if (legend) card.setAttribute("aria-label", `Legend: ${legend.title || legend.items.map(({ text }) => text).join(", ")}`);
    }
    place(plot, card);
  }

  function cardOf(plot) {
    const around = plot.closest("#map").parentElement;
    let card = around.querySelector(":scope > .legend-card");
    if (!card) {
      card = element("section", "", "legend-card");
      card.addEventListener("keydown", ({ key }) => key === "Escape" && isOpen && turn(card, false));
      around.append(card);
    }
    return card;
  }

  // The caption is at the lower right; where both do not fit side by side, the legend goes above it.
  function place(plot, card) {
    if (card.hidden) return;
    const caption = plot.querySelector(".infolayer .annotation")?.getBoundingClientRect();
    const { right } = card.getBoundingClientRect();
    const isAbove = caption?.width && caption.left < right + GAP;
    card.style.setProperty("--below", `${isAbove ? caption.height + GAP : 0}px`);
  }

  function chip(legend) {
    const button = element("button", "Legend", "legend-chip");
    button.type = "button";
    button.setAttribute("aria-expanded", String(isOpen));
    button.setAttribute("aria-controls", "legend-body");
    const mini = element("span", "", "mini");
    mini.setAttribute("aria-hidden", "true");
    for (const { color } of legend.items) mini.append(colored("i", color));
    button.append(mini);
    button.addEventListener("click", () => turn(button.parentElement, !isOpen));
    return button;
  }

  function turn(card, open) {
    isOpen = open;
    const button = card.querySelector(".legend-chip");
    button?.setAttribute("aria-expanded", String(open));
    if (!open) button?.focus({ preventScroll: true });
  }

  function body(legend) {
    const { kind, title, line, items, extras, notes } = legend;
    const all = element("div", "", `legend-body ${kind}`);
    all.id = "legend-body";
    if (title) all.append(element("p", title, "legend-title"));
    if (line) all.append(element("p", line, "legend-line"));
    const draw = { classes: scale, ramp: scale, circles, swatches: rows, lines: rows }[kind];
    if (items.length) all.append(draw(legend));
    if (extras.length) all.append(rows({ kind: "extras", items: extras }));
    for (const note of notes) all.append(element("p", note, "legend-note"));
    return all;
  }

  // One horizontal ramp with its ticks. Screen readers are told each class.
  function scale({ kind, items, ticks }) {
    const all = element("div", "", "legend-scale");
    const ramp = element("div", "", "legend-ramp");
    ramp.setAttribute("aria-hidden", "true");
    if (kind === "ramp") ramp.style.background = `linear-gradient(to right, ${items.map(faded).join(", ")})`;
    else for (const { text, color, more } of items) ramp.append(titled(colored("i", color), [text, more]));
    const marks = element("div", "", "legend-ticks");
    marks.setAttribute("aria-hidden", "true");
    for (const [at, text] of ticks) {
      const tick = element("span", text, at <= 0.02 ? "first" : at >= 0.98 ? "last" : "");
      tick.style.left = `${100 * at}%`;
      marks.append(tick);
    }
    all.append(ramp);
    if (ticks.length) all.append(marks);
    if (kind === "classes") all.append(ticks.length ? told(items) : rows({ kind: "extras", items }));
    return all;
  }

  const faded = ({ color, opacity }) => `color-mix(in srgb, ${color} ${Math.round(100 * opacity)}%, transparent)`;

  function told(items) {
    const list = element("ol", "", "unseen");
    for (const { text, more } of items) list.append(element("li", more ? `${text}: ${more}` : text));
    return list;
  }

  // Nested circles that touch at the bottom, each with a line to its number.
  function circles({ items }) {
    const all = element("ol", "", "legend-circles");
    const largest = Math.max(...items.map(({ size }) => size));
    all.style.height = `${Math.max(largest, 13 * items.length)}px`;
    all.style.setProperty("--largest", `${largest}px`);
    items.forEach(({ text, color, size, opacity }, index) => {
      const entry = element("li");
      const ring = element("i");
      ring.style.cssText = `width:${size}px;height:${size}px;--fill:${color};--strength:${100 * opacity}%`;
      const label = element("span", text);
      label.style.bottom = `${Math.max(size - 8, 13 * (items.length - 1 - index) - 2)}px`;
      entry.append(ring, label);
      all.append(entry);
    });
    return all;
  }

  function rows({ kind, items }) {
    const all = element("ul", "", `legend-rows ${kind}`);
    for (const { text, color, size, opacity, more, is_hatched: isHatched } of items) {
      const entry = element("li");
      const mark = colored("i", color);
      if (isHatched) mark.classList.add("hatched");
      if (kind === "lines") mark.style.height = `${Math.min(Math.max(size, 1), WIDEST)}px`;
      if (kind !== "extras") mark.style.opacity = Math.max(opacity, 0.5);
      mark.setAttribute("aria-hidden", "true");
      entry.append(mark, element("span", text));
      if (more) entry.append(element("b", more));
      all.append(entry);
    }
    return all;
  }

  function colored(tag, color) {
    const element = document.createElement(tag);
    if (color) element.style.background = color;
    else element.classList.add("unfilled");
    return element;
  }

  function titled(element, texts) {
    element.title = texts.filter(Boolean).join(": ");
    return element;
  }

  window.addEventListener("resize", () => {
    const plot = document.querySelector("#map .js-plotly-plot");
    if (plot?._fullLayout) show(plot);
  });
  window.commutemap = Object.assign(window.commutemap ?? {}, { showLegend: show });
})();

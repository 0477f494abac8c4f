// The little that is done in the browser itself.

// The controls call these by name. The server has searched already: keep all it found.
window.dashMantineFunctions = Object.assign(window.dashMantineFunctions || {}, {
  keepAll: (input) => input.options,
});

window.dash_clientside = Object.assign(window.dash_clientside || {}, {
  commutemap: {
    // The address, together with the size of the map it is about to be shown on.
    look: (search) => {
      const map = document.getElementById("map");
      const box = map ? map.getBoundingClientRect() : { width: 700, height: 700 };
      return { search: search || "", width: Math.round(box.width), height: Math.round(box.height) };
    },

    // Thousands of rows as components would take the page seconds; as plain cells they take milliseconds.
    // Returns whether the table is hidden: it is while it has no rows.
    fill: (table) => {
      const body = document.getElementById("area-rows");
      if (!body || !table) return true;
      for (const part of ["title", "unit", "size"]) {
        document.getElementById("table-" + part).textContent = table[part];
      }
      body.replaceChildren(...table.rows.map(row));
      return table.rows.length === 0;
    },
  },
});

function row([name, county, workers, share, caution]) {
  const line = document.createElement("tr");
  const head = cell("th", name);
  head.scope = "row";
  if (county) head.append(cell("span", county, "quiet county"));
  const count = cell("td", workers, "number");
  if (caution) {
    const mark = cell("span", "●", "dot " + caution.split(" ")[0]);
    mark.title = caution;
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", caution);
    count.prepend(mark, " ");
  }
  line.append(head, count, cell("td", share, "number quiet"));
  return line;
}

function cell(tag, text, className) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

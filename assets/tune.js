// The workbench, in the browser: a number's text and its slider move each other; the list of tracts.

const ASK_AGAIN_MS = 250;
const WAITING_THERE = ["measure"]; // the server answers about it when it is done, or after a while
const waiting = {};

window.dash_clientside = Object.assign({}, window.dash_clientside, {
  workbench: {
    pair(text, position, stops) {
      const still = window.dash_clientside.no_update;
      const moved = window.dash_clientside.callback_context.triggered.map((one) => one.prop_id);
      if (moved.some((one) => one.includes("-slider."))) {
        return [stops[position] === text ? still : stops[position], still];
      }
      const [over, under = "1", ...more] = (text || "").split("/");
      const wanted = over.trim() && !more.length ? Number(over) / Number(under) : NaN;
      if (!Number.isFinite(wanted)) return [still, still];
      const away = stops.map((stop) => Math.abs(Number(stop) - wanted));
      const nearest = away.indexOf(Math.min(...away));
      return [still, nearest === position ? still : nearest];
    },

    // Ask about the work again after a while; replace an earlier timer.
    again(more) {
      const [{ prop_id: place }] = window.dash_clientside.callback_context.triggered;
      const kind = place.replace("-more.data", "");
      clearTimeout(waiting[kind]);
      if (!more) return;
      waiting[kind] = setTimeout(() => {
        window.dash_clientside.set_props(`${kind}-pulse`, { data: more });
      }, WAITING_THERE.includes(kind) ? 0 : ASK_AGAIN_MS);
    },

    heeded(mechanism, unused) {
      const { outputs_list } = window.dash_clientside.callback_context;
      return outputs_list.map(({ id }) => unused[mechanism].includes(id.replace("-slider", "")));
    },

    // The clipboard needs a page of this machine or a secure one; otherwise the command can be selected.
    copy(clicks, text) {
      const still = window.dash_clientside.no_update;
      if (!clicks || !text) return still;
      const other = "Select the command above to copy it.";
      if (!navigator.clipboard) return other;
      return navigator.clipboard.writeText(text).then(() => "Copied.", () => other);
    },

    // What `drawn_parts` on the server says, by the id of its place.
    draw(parts) {
      for (const [name, inside] of Object.entries(parts || {})) {
        document.getElementById(name)?.replaceChildren(...inside.map(drawn));
      }
    },

    // Workplace tracts as rows; making hundreds of them here is far quicker than as components.
    tracts(rows) {
      const body = document.getElementById("tract-rows");
      if (body) body.replaceChildren(...(rows || []).map(tractRow));
      return !(rows && rows.length);
    },
  },
});

function drawn(part) {
  if (typeof part === "string") return part;
  const [tag, { style = {}, ...attributes }, inside] = part;
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value === true ? "" : value);
  Object.assign(made.style, style);
  made.append(...inside.map(drawn));
  return made;
}

function tractRow([id, name, ...numbers]) {
  const line = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  const button = document.createElement("button");
  button.className = "link-button";
  button.textContent = name;
  button.addEventListener("click", () => {
    window.dash_clientside.set_props("requested-tract", { data: [id, Date.now()] });
  });
  head.append(button);
  line.append(head);
  for (const number of numbers) {
    const cell = document.createElement("td");
    cell.className = "number";
    cell.textContent = number;
    line.append(cell);
  }
  return line;
}

// A mark on the map at the place around which a circle is to be drawn, until another place is typed.

(() => {
  let mark = null;
  let marked = null; // longitude and latitude
  let map = null;

  const mapOf = () => document.querySelector("#map .js-plotly-plot")?._fullLayout?.map?._subplot?.map;

  // Longitude and latitude of a value of the box: typed `latitude, longitude`, or a landmark, which is a circle.
  function placeOf(value) {
    const circle = /^circle:([^,]+),([^,]+),/.exec(value ?? "");
    if (circle) return circle.slice(1).map(Number);
    const typed = (value ?? "").trim().split(/[\s,;]+/).map(Number);
    return typed.length === 2 && typed.every(Number.isFinite) ? typed.toReversed() : null;
  }

  function markPlace(value) {
    marked = placeOf(value);
    mark?.remove();
    mark = null;
    map?.off("move", follow);
    map = mapOf();
    if (!marked || !map) return;
    mark = Object.assign(document.createElement("div"), { className: "place-mark" });
    mark.setAttribute("aria-hidden", "true"); // the box has the place
    document.getElementById("map-part").append(mark);
    map.on("move", follow);
    if (!map.getBounds().contains(marked)) map.easeTo({ center: marked });
    follow();
  }

  function follow() {
    const { x, y } = map.project(marked);
    mark.style.transform = `translate(${x}px, ${y}px)`;
  }

  window.dash_clientside = window.dash_clientside ?? {};
  Object.assign((window.dash_clientside.commutemap ??= {}), { markPlace });
})();

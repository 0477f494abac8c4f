// Hatches areas whose expected error exceeds their count, and more quietly those that the release does not cover.
// Errors take the server a while, so their shapes come after the colors.

(() => {
  const SIDE = 8; // pixels of the pattern's tile
  const NOTHING = { type: "FeatureCollection", features: [] };
  const LAYERS = ["hatched", "missing"]; // parts of the figure's `meta`, and layers of the map
  const wanted = new Map(); // what the figure asks for, by layer

  function show(plot, map) {
    for (const name of LAYERS) showLayer(plot, map, name, plot._fullLayout?.meta?.[name] ?? {});
  }

  async function showLayer(plot, map, name, { url, units, color, halo, opacity }) {
    if (!map.isStyleLoaded() && !map.getLayer(name)) return;
    if (!map.getSource(name)) {
      wanted.delete(name);
      if (!url) return;
      map.addSource(name, { type: "geojson", data: NOTHING });
      const under = map.getLayer("county-lines") ? "county-lines" : undefined;
      map.addLayer({ id: name, type: "fill", source: name, paint: { "fill-pattern": pattern(map, color, halo, opacity) } }, under);
    }
    const look = color && pattern(map, color, halo, opacity);
    // The map fades a pattern in again whenever it is set.
    if (look && map.getPaintProperty(name, "fill-pattern") !== look) map.setPaintProperty(name, "fill-pattern", look);
    const key = url ? JSON.stringify([url, units]) : "";
    if ((wanted.get(name) ?? "") === key) return;
    wanted.set(name, key);
    map.getSource(name).setData(NOTHING);
    if (!url) return;
    const isWanted = () => wanted.get(name) === key;
    const answer = await window.commutemap.patiently([url], isWanted).catch(() => null);
    const shapes = answer?.ok ? await answer.json() : NOTHING;
    const among = units && new Set(units);
    const features = among ? shapes.features.filter(({ id }) => among.has(id)) : shapes.features;
    if (isWanted()) map.getSource(name)?.setData({ ...shapes, features });
    plot.dataset[name] = String(features.length);
  }

  // Diagonal strokes with a lighter or darker one beside each, so that one of them shows on any color.
  function pattern(map, color, halo, opacity) {
    const name = `hatch ${color} ${opacity}`;
    if (map.hasImage(name)) return name;
    const ratio = 2;
    const side = SIDE * ratio;
    const canvas = Object.assign(document.createElement("canvas"), { width: side, height: side });
    const context = canvas.getContext("2d");
    for (const [stroke, width, alpha] of [[halo, 2.6, opacity], [color, 1.1, 1]]) {
      Object.assign(context, { strokeStyle: stroke, lineWidth: width * ratio, globalAlpha: alpha });
      context.beginPath();
      for (const at of [-side, 0, side]) {
        context.moveTo(at - ratio, side + ratio);
        context.lineTo(at + side + ratio, -ratio);
      }
      context.stroke();
    }
    map.addImage(name, context.getImageData(0, 0, side, side), { pixelRatio: ratio });
    return name;
  }

  window.commutemap = Object.assign(window.commutemap ?? {}, { showHatching: show });
})();

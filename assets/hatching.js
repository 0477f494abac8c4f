// Hatches areas whose expected error exceeds their count. Their errors take the server a while, so they come after the
// colors.

(() => {
  const NAME = "uncertain";
  const SIDE = 8; // pixels of the pattern's tile
  const NOTHING = { type: "FeatureCollection", features: [] };
  let wanted = null; // address of the shapes that the figure asks for

  async function show(plot, map) {
    const { url, color, halo, opacity } = plot._fullLayout?.meta?.hatched ?? {};
    if (!map.isStyleLoaded() && !map.getLayer(NAME)) return;
    if (!map.getSource(NAME)) {
      wanted = null;
      if (!url) return;
      map.addSource(NAME, { type: "geojson", data: NOTHING });
      const under = map.getLayer("county-lines") ? "county-lines" : undefined;
      map.addLayer({ id: NAME, type: "fill", source: NAME, paint: { "fill-pattern": pattern(map, color, halo, opacity) } }, under);
    }
    const look = color && pattern(map, color, halo, opacity);
    // The map fades a pattern in again whenever it is set.
    if (look && map.getPaintProperty(NAME, "fill-pattern") !== look) map.setPaintProperty(NAME, "fill-pattern", look);
    if (wanted === (url ?? null)) return;
    wanted = url ?? null;
    map.getSource(NAME).setData(NOTHING);
    if (!url) return;
    const answer = await window.commutemap.patiently([url], () => wanted === url).catch(() => null);
    const shapes = answer?.ok ? await answer.json() : NOTHING;
    if (wanted === url) map.getSource(NAME)?.setData(shapes);
    plot.dataset.hatched = String(shapes.features.length);
  }

  // Diagonal strokes with a lighter or darker one beside each, so that one of them shows on any color.
  function pattern(map, color, halo, opacity) {
    const name = `hatch ${color}`;
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

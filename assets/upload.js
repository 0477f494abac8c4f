// An area from a file: upload it, poll until the server has read it, then choose it by its token.

(() => {
  const MOST_BYTES = 20 * 2 ** 20; // `area_files.MAX_BYTES` on the server, which checks again
  const ASK_EVERY_MS = 700;
  const MOST_TURNS = 4;
  let latest = 0; // a file chosen later replaces one that is still uploading

  const say = (children) => window.dash_clientside.set_props("file-said", { children });
  const pause = (ms) => new Promise((go) => setTimeout(go, ms));

  async function uploadArea(file) {
    latest += 1;
    const mine = latest;
    const isOver = () => mine !== latest || !document.getElementById("file-said");
    try {
      const said = await sent(file, isOver);
      if (said && !isOver()) say(said);
    } catch {
      if (!isOver()) say("The server does not respond. Try again.");
    }
  }

  // Returns an error message, or nothing.
  async function sent(file, isOver) {
    if (file.size > MOST_BYTES) return `${file.name} is too large: at most 20 MiB are taken.`;
    say(`Sending ${file.name} …`);
    const address = "upload/area"; // beside the page
    const answer = await patiently(`${address}?name=${encodeURIComponent(file.name)}`, file, isOver);
    if (isOver()) return;
    if (answer.status !== 202) return (await answer.text()).trim();
    const { token } = await answer.json();
    for (;;) {
      const { state, before, said } = await (await fetch(`${address}/${token}`)).json();
      if (isOver()) return;
      if (state === "done") return window.commutemap.act("open-area", { token });
      if (state === "failed" || state === "gone") return said;
      say(before ? `${file.name} is waiting for ${before} other ${before === 1 ? "file" : "files"} …` : `Reading ${file.name} …`);
      await pause(ASK_EVERY_MS);
    }
  }

  // A busy server says when to try again.
  async function patiently(address, body, isOver) {
    for (let turn = 1; ; turn += 1) {
      const headers = { "Content-Type": "application/octet-stream" };
      const answer = await fetch(address, { method: "POST", headers, body });
      if (answer.status !== 503 || turn === MOST_TURNS || isOver()) return answer;
      say("Other files are being read. Sending yours again in a few seconds …");
      await pause(1000 * (Number(answer.headers.get("Retry-After")) || 2) * (1 + Math.random()));
    }
  }

  window.commutemap = Object.assign(window.commutemap ?? {}, { uploadArea });
})();

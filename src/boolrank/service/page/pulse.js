// Live figures of the service, from its Prometheus metrics.

const EVERY = 2000;
const KEPT = 30;

/** Count requests for data; the page's own look at the metrics is left out. */
function count(text) {
  const found = text.matchAll(/^boolrank_request_seconds_count\{[^}]*"\/v1\/.*\} (\S+)/gm);
  return [...found].reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Draw the figures every two seconds while the page is visible. */
export function watch(load, place) {
  const line = place.querySelector("polyline");
  const [rate, all] = place.querySelectorAll("span");
  let before = null;
  const rates = Array(KEPT).fill(0);

  async function look() {
    if (document.hidden) return;
    try {
      const now = { time: performance.now(), total: count(await load()) };
      // A restart counts from zero.
      const made = before ? now.total - before.total : 0;
      if (before) rates.push(Math.max(0, (1000 * made) / (now.time - before.time)));
      before = now;
      rates.splice(0, rates.length - KEPT);
      const most = Math.max(...rates, 1);
      const point = (each, k) => `${(60 * k) / (KEPT - 1)},${15 - (14 * each) / most}`;
      line.setAttribute("points", rates.map(point).join(" "));
      rate.textContent = `${rates.at(-1).toFixed(rates.at(-1) < 10 ? 1 : 0)} requests/s`;
      all.textContent = `${now.total.toLocaleString("en")} in all`;
    } catch {
      rate.textContent = "no figures";
      all.textContent = "";
    }
  }

  look();
  setInterval(look, EVERY);
}

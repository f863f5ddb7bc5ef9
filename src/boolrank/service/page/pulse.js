// Live figures of the service, from its Prometheus metrics.

const EVERY = 2000;
const KEPT = 30;

/** Return samples: [name, labels, value]. */
function parse(text) {
  return [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)/gm)].map(([, name, labels, value]) => [
    name,
    labels ?? "",
    Number(value),
  ]);
}

/** Count requests for data, in all and by time; the page's own look at the metrics is left out. */
function count(text) {
  const buckets = new Map();
  for (const [name, labels, value] of parse(text)) {
    if (name !== "boolrank_request_seconds_bucket" || !labels.includes("/v1/")) continue;
    const most = Number(/le="([^"]+)"/.exec(labels)[1].replace("+Inf", "Infinity"));
    buckets.set(most, (buckets.get(most) ?? 0) + value);
  }
  return [...buckets].sort(([a], [b]) => a - b);
}

/** Return the time within which a share of requests was answered, interpolated in its bucket. */
function quantile(buckets, share) {
  const total = buckets.at(-1)?.[1] ?? 0;
  const at = buckets.findIndex(([, sum]) => sum >= share * total);
  if (!total || at < 0) return NaN;
  const [low, before] = buckets[at - 1] ?? [0, 0];
  const [high, sum] = buckets[at];
  if (high === Infinity) return low;
  return low + ((high - low) * (share * total - before)) / (sum - before || 1);
}

const milliseconds = (seconds) => {
  const shown = 1000 * seconds;
  return Number.isNaN(shown) ? "–" : `${shown < 10 ? shown.toFixed(1) : Math.round(shown)} ms`;
};

/** Draw the figures every two seconds while the page is visible. */
export function watch(load, place) {
  const line = place.querySelector("polyline");
  const [rate, total, median, slow] = place.querySelectorAll("span");
  let before = null;
  const rates = Array(KEPT).fill(0);

  async function look() {
    if (document.hidden) return;
    try {
      const buckets = count(await load());
      const now = { time: performance.now(), total: buckets.at(-1)?.[1] ?? 0 };
      // A restart counts from zero.
      const made = before ? now.total - before.total : 0;
      if (before) rates.push(Math.max(0, (1000 * made) / (now.time - before.time)));
      before = now;
      rates.splice(0, rates.length - KEPT);
      const most = Math.max(...rates, 1);
      const point = (each, k) => `${(60 * k) / (KEPT - 1)},${15 - (14 * each) / most}`;
      line.setAttribute("points", rates.map(point).join(" "));
      rate.textContent = `${rates.at(-1).toFixed(rates.at(-1) < 10 ? 1 : 0)} requests/s`;
      total.textContent = `${now.total.toLocaleString("en")} in all`;
      median.textContent = `median ${milliseconds(quantile(buckets, 0.5))}`;
      slow.textContent = `p99 ${milliseconds(quantile(buckets, 0.99))}`;
    } catch {
      rate.textContent = "no figures";
      total.textContent = median.textContent = slow.textContent = "";
    }
  }

  look();
  setInterval(look, EVERY);
}

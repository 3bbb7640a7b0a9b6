// How numbers and times are written.

const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
const units = ["B", "kB", "MB", "GB", "TB", "PB"];

export function number(value) {
  if (value === undefined || value === null) return "";
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e7) ? value.toExponential(3) : plain.format(value);
}

// epsilon says how private a status or a round is.
export function epsilon({ epsilon, delta }) {
  if (epsilon === undefined) return "";
  return `${typeof epsilon === "number" ? number(epsilon) : "infinite"} (delta ${number(delta)})`;
}

// asynchronous says how a job without rounds trains.
export function asynchronous(settings) {
  if (!settings) return "";
  const { buffer = "min_fit_clients", concurrency = "10 times the buffer", staleness = 0.5 } = settings;
  return `buffer ${buffer}, concurrency ${concurrency}, exponent of staleness ${number(staleness)}`;
}

// staleness says how old the updates of a version were, and nothing for a round.
export function staleness(version) {
  if (!version) return "";
  return `staleness ${number(version.mean_staleness)}, at most ${version.max_staleness}`;
}

export function bytes(value) {
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}

export function seconds(value) {
  if (value < 0.1) return `${(value * 1000).toFixed(1)} ms`;
  return `${value.toFixed(value < 10 ? 2 : 0)} s`;
}

// called returns the name of a client of a report: that of its token or certificate, or else
// the one that it gives itself.
export function called({ name = "", session }) {
  const at = session.indexOf("@");
  const address = session.slice(at + 1);
  const proven = /^ipv[46]:/.test(address) ? session.slice(0, Math.max(0, at)) : session;
  if (!proven) return name;
  return name && name !== proven ? `${name} (${proven})` : proven;
}

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

export function stamp(text) {
  return text ? new Date(text).toLocaleString() : "";
}

// Numbers are written here, for the whole page.
const LANGUAGE = "en-US"; // the library writes English, whatever the browser speaks
const whole = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat(LANGUAGE, { maximumSignificantDigits: 6 });
const short = new Intl.NumberFormat(LANGUAGE, { notation: "compact", maximumSignificantDigits: 3 });
const day = new Intl.DateTimeFormat("sv-SE", { timeZone: "UTC", dateStyle: "short" });

export const known = (x) => x !== null && x !== undefined && Number.isFinite(x);

/** A number with thousands separators: 1,234 or 0.25. */
export function number(x) {
  if (!known(x)) return "–";
  return Number.isInteger(x) ? whole.format(x) : fine.format(x);
}

/** 12.3K: where there is little room. */
export const brief = (x) => (known(x) ? (Math.abs(x) < 10_000 ? number(x) : short.format(x)) : "–");

/** A share as 95.3%, as the library writes it: without a space. Only all rows are 100%, only none 0%. */
export function percent(x, digits = 1) {
  if (!known(x)) return "–";
  const least = 10 ** -digits;
  const kept = x >= 1 ? 100 : x <= 0 ? 0 : Math.min(100 - least, Math.max(least, 100 * x));
  return `${kept === 100 || kept === 0 ? kept : kept.toFixed(digits)}%`;
}

/** A change with its sign: +12, −3, ±0. */
export function change(x, write = number) {
  if (!known(x)) return "";
  if (x === 0) return "±0";
  return (x > 0 ? "+" : "−") + write(Math.abs(x));
}

/** Percentage points: +0.4. */
export const points = (x) => change(Math.abs(x) < 5e-4 ? 0 : x, (size) => (100 * size).toFixed(1));

export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

// Dates are microseconds since 1970; a test says "before" the day after its threshold.
const DAY = 86_400_000_000;
const dateText = (micro) => day.format(new Date(micro / 1000));
export const dayOf = (threshold) => dateText(Math.ceil((threshold + 1) / DAY) * DAY);
export const beforeDay = (text) => Date.parse(`${text}T00:00:00Z`) * 1000 - 1;

// Formatting of numbers, counts and dates.

const NUMBER = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
const SCORE = new Intl.NumberFormat("en-US", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const SIGNED = new Intl.NumberFormat(
  "en-US",
  { minimumFractionDigits: 3, maximumFractionDigits: 3, signDisplay: "exceptZero" },
);
const COUNT = new Intl.NumberFormat("en-US");
const MOMENT = new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeStyle: "short" });


const decimal = (form) => (value) =>
  Math.abs(value) >= 1e5 ? value.toExponential(2) : form.format(value).replace("-", "−");

export const count = (value) => COUNT.format(value);
export const score = decimal(SCORE);
export const signed = decimal(SIGNED);
export const moment = (seconds) => MOMENT.format(new Date(seconds * 1000));
export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;

/** Return a gain in hundredths, with its standard error. */
export function gain(share, error = null) {
  const size = `${share < 0 ? "−" : "+"}${(100 * Math.abs(share)).toFixed(1)}`;
  return error === null ? size : `${size} ± ${(100 * error).toFixed(1)}`;
}

/** Return a cell of a row. */
export function cell(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : NUMBER.format(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Return "1 answer", "2 answers". */
export function several(n, one, more = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : more}`;
}

/** Return a sentence with a capital at its beginning. */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

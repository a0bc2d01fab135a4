// Durations such as '30s': checked by the type where they are literals, at run time everywhere else.

type Digit = '0' | '1' | '2' | '3' | '4' | '5' | '6' | '7' | '8' | '9';
type OnlyDigits<S extends string> = S extends `${Digit}${infer Rest}`
  ? Rest extends ''
    ? true
    : OnlyDigits<Rest>
  : false;
type WholeNumber<S extends string> = S extends `0${string}` ? false : OnlyDigits<S>;
type NumberPart<S extends string> = S extends `${infer N}ms`
  ? N
  : S extends `${infer N}${'s' | 'm' | 'h'}`
    ? N
    : '';

/** `S` itself when it is a duration (or no literal), else a sentence that the compiler shows. */
export type Duration<S extends string> = string extends S
  ? S
  : WholeNumber<NumberPart<S>> extends true
    ? S
    : `'${S}' is not a duration: write a whole number above 0 followed by ms, s, m or h`;

/** `N` itself when it is a whole number above 0 (or no literal), else a sentence that the compiler shows. */
export type PositiveInteger<N extends number> = number extends N
  ? N
  : `${N}` extends `-${string}` | '0' | `${string}.${string}` | `${string}e-${string}`
    ? 'must be a whole number above 0'
    : N;

/** What a duration must look like, for messages. */
export const DURATION_RULE = "a whole number above 0 followed by ms, s, m or h, such as '1m', up to 87600h";

const DURATION = /^([1-9][0-9]{0,14})(ms|s|m|h)$/;
const MICROSECONDS: Readonly<Record<string, number>> = { ms: 1e3, s: 1e6, m: 60e6, h: 3600e6 };
const LONGEST = 87_600 * 3600e6;

/** The duration in microseconds; null when it is none, or longer than ten years. */
export function parseDuration(text: unknown): number | null {
  const match = typeof text === 'string' ? DURATION.exec(text) : null;
  if (match === null) return null;
  const duration = Number(match[1]) * MICROSECONDS[match[2]];
  return duration <= LONGEST ? duration : null;
}

/** Microseconds as a duration: '1m'. */
export function formatDuration(microseconds: number): string {
  for (const unit of ['h', 'm', 's']) {
    if (microseconds % MICROSECONDS[unit] === 0) return `${microseconds / MICROSECONDS[unit]}${unit}`;
  }
  return `${microseconds / MICROSECONDS.ms}ms`;
}

/** Whole seconds, rounded up: what headers and messages show. Source B: SB-12, SB-36. */
export function ceilSeconds(microseconds: number): number {
  return Math.ceil(microseconds / 1e6);
}

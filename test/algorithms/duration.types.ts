// Compiled by `tsc --noEmit`, never run: each `@ts-expect-error` fails the check when the line below compiles.

import type { Duration, PositiveInteger } from '../../lib/algorithms/duration.js';

declare function quota<const N extends number, const S extends string>(quota: {
  limit: PositiveInteger<N>;
  per: Duration<S>;
}): void;
declare function per<const S extends string>(duration: Duration<S>): void;
declare function limit<const N extends number>(count: PositiveInteger<N>): void;

// Literals that are durations
per('1ms');
per('500ms');
per('30s');
per('1m');
per('90m');
per('8760h');
per('100000000000ms');

// Text that is only known at run time
declare const text: string;
declare const numberOf: `${number}s`;
per(text);

// Literals that are none
// @ts-expect-error no unit
per('60');
// @ts-expect-error an unknown unit
per('1d');
// @ts-expect-error a space
per('1 m');
// @ts-expect-error a fraction
per('1.5m');
// @ts-expect-error a sign
per('-1s');
// @ts-expect-error zero
per('0s');
// @ts-expect-error a leading zero
per('01s');
// @ts-expect-error an exponent
per('1e3s');
// @ts-expect-error hexadecimal
per('0x10s');
// @ts-expect-error two durations
per('1m30s');
// @ts-expect-error a unit alone
per('ms');
// @ts-expect-error empty
per('');
// @ts-expect-error upper case
per('1M');
// @ts-expect-error a word
per('1min');
// @ts-expect-error a number
per(60);
// @ts-expect-error one of two is none
per(text === '' ? '1m' : '1d');
// @ts-expect-error any number, fractions and negatives among them
per(numberOf);

// Limits
limit(1);
limit(600);
limit(1_099_511_627_776);
declare const count: number;
limit(count);
// @ts-expect-error zero
limit(0);
// @ts-expect-error negative
limit(-1);
// @ts-expect-error a fraction
limit(1.5);
// @ts-expect-error a fraction with an exponent
limit(1e-7);
// @ts-expect-error text
limit('10');

// As they stand in a quota
quota({ limit: 30, per: '1m' });
quota({ limit: count, per: text });
// @ts-expect-error the limit
quota({ limit: 0, per: '1m' });
// @ts-expect-error the window
quota({ limit: 30, per: '1 minute' });

// The message a user reads
const message: Duration<'1d'> =
  "'1d' is not a duration: write a whole number above 0 followed by ms, s, m or h";
const tooSmall: PositiveInteger<0> = 'must be a whole number above 0';
void message;
void tooSmall;

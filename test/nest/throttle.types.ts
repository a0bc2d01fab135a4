// Compiled by `tsc --noEmit`, never run: each `@ts-expect-error` fails the check when the line below compiles.

import { Throttle, type Call, type NamedQuota, type Quota } from '../../lib/index.js';

declare const anyNumber: number;
declare const anyText: string;
declare const anyQuota: Quota;
declare const anyList: readonly Quota[];
declare const mixedList: (Quota | string)[];
declare const namedQuota: NamedQuota;
declare const tierOf: (call: Call) => number;

// Literals that are quotas
Throttle({ limit: 10, per: '1m' });
Throttle({ limit: 1, per: '500ms' });
Throttle({ limit: 5, per: '24h', name: 'exports', algorithm: 'fixed', by: 'ip', shared: true });
Throttle({ limit: 5, per: '1m', by: (call) => call.address ?? 'nobody' });
Throttle('exports');

// Lists of quotas and names of policies
Throttle([
  { limit: 2, per: '1s' },
  { limit: 30, per: '1m' },
]);
Throttle(['burst', { limit: 30, per: '1m' }]);
Throttle([{ limit: 30, per: '1m', by: (call) => call.network }]);

// What is only known at run time
Throttle({ limit: anyNumber, per: '1m' });
Throttle({ limit: 10, per: anyText });
Throttle(anyText);
Throttle(anyQuota);
Throttle(anyList);
Throttle(mixedList);
Throttle(namedQuota);
Throttle([anyQuota, 'burst', { limit: anyNumber, per: anyText }]);

// Functions, whose call has its type
Throttle({ limit: tierOf, per: '1m' });
Throttle({ limit: (call) => (call.user === null ? 10 : 100), per: '1m' });
Throttle([{ limit: (call: Call) => call.network.length, per: '1m' }, 'burst']);

// Limits that are none
// @ts-expect-error zero
Throttle({ limit: 0, per: '1m' });
// @ts-expect-error a negative
Throttle({ limit: -1, per: '1m' });
// @ts-expect-error a fraction
Throttle({ limit: 1.5, per: '1m' });
// @ts-expect-error a text
Throttle({ limit: '10', per: '1m' });
// @ts-expect-error null
Throttle({ limit: null, per: '1m' });
// @ts-expect-error missing
Throttle({ per: '1m' });
// @ts-expect-error a function that is async
Throttle({ limit: async () => 10, per: '1m' });
// @ts-expect-error a function of no number
Throttle({ limit: () => '10', per: '1m' });

// Durations that are none
// @ts-expect-error zero
Throttle({ limit: 1, per: '0s' });
// @ts-expect-error a fraction
Throttle({ limit: 1, per: '1.5m' });
// @ts-expect-error no unit
Throttle({ limit: 1, per: '60' });
// @ts-expect-error a number
Throttle({ limit: 1, per: 60 });
// @ts-expect-error a space
Throttle({ limit: 1, per: '1 m' });
// @ts-expect-error a sign
Throttle({ limit: 1, per: '-1s' });
// @ts-expect-error an unknown unit
Throttle({ limit: 1, per: '1d' });
// @ts-expect-error empty
Throttle({ limit: 1, per: '' });
// @ts-expect-error missing
Throttle({ limit: 1 });
// @ts-expect-error with a limit that is a function
Throttle({ limit: tierOf, per: '0s' });

// Other fields
// @ts-expect-error an unknown algorithm
Throttle({ limit: 1, per: '1m', algorithm: 'sliding' });
// @ts-expect-error an unknown subject
Throttle({ limit: 1, per: '1m', by: 'session' });
// @ts-expect-error a key that comes later
Throttle({ limit: 1, per: '1m', by: async () => 'key' });
// @ts-expect-error a misspelt field
Throttle({ limit: 1, per: '1m', alogrithm: 'fixed' });
// @ts-expect-error two arguments that could be swapped
Throttle(10, '1m');
// @ts-expect-error nothing
Throttle();
// @ts-expect-error null
Throttle(null);

// In lists
// @ts-expect-error a limit of zero
Throttle([{ limit: 0, per: '1m' }]);
Throttle([
  { limit: 2, per: '1s' },
  // @ts-expect-error a duration of zero, second
  { limit: 3, per: '0m' },
]);
// @ts-expect-error a fraction behind a name
Throttle(['burst', { limit: 3, per: '1.5m' }]);
// @ts-expect-error a number
Throttle([10]);
// @ts-expect-error a misspelt field
Throttle([{ limit: 3, per: '1m', key: 'ip' }]);

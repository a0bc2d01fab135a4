// Compiled by `tsc --noEmit`, never run: each `@ts-expect-error` fails the check when the line below compiles.

import { Cost, PublicTool, type Call } from '../../lib/index.js';

declare const anyNumber: number;
declare const costOf: (call: Call) => number;
declare const numberOrFunction: number | ((call: Call) => number);

// Whole numbers above 0
Cost(1);
Cost(20);
Cost(1_000_000);

// What is only known at run time
Cost(anyNumber);
Cost(costOf);
Cost(numberOrFunction);
Cost(() => 5);
Cost((call) => (call.key === null ? 1 : 10));

// @ts-expect-error no call is free
Cost(0);
// @ts-expect-error a credit
Cost(-1);
// @ts-expect-error a fraction
Cost(0.5);
// @ts-expect-error a fraction
Cost(2.5);
// @ts-expect-error a text
Cost('5');
// @ts-expect-error nothing
Cost(null);
// @ts-expect-error nothing
Cost(undefined);
// @ts-expect-error no cost
Cost();
// @ts-expect-error it can't be waited for
Cost(async () => 5);
// @ts-expect-error it gives a text
Cost(() => '5');
// @ts-expect-error a call has no such field
Cost((call) => call.rows);

class Routes {
  @Cost(5)
  @PublicTool('session')
  a(): void {}

  @PublicTool((call) => call.address)
  b(): void {}

  // @ts-expect-error a field has a name
  @PublicTool(5)
  c(): void {}
}

// @ts-expect-error a tool is a handler
PublicTool('session')(Routes);

// Runs around every test file: none may leave fake timers to the files that share its process.
import { afterAll, expect } from 'vitest';

const { setTimeout, setInterval, setImmediate, clearTimeout, Date: clock } = globalThis;

afterAll(() => {
  const left = { setTimeout, setInterval, setImmediate, clearTimeout, Date: clock };
  for (const [name, real] of Object.entries(left)) expect(Reflect.get(globalThis, name), name).toBe(real);
});

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findProgram } from '../tools/servers/programs.js';

interface Row {
  readonly group: string;
  readonly what: string;
  readonly median: number;
  readonly min: number;
  readonly bound: number | null;
  readonly met: boolean | null;
}

/** Tries every row but those over HTTP and those that need other limiters: a few calls each, so numbers mean nothing. */
function smoke(): { text: string; rows: Row[] } {
  // Without a redis-server there are no rows over Redis: says now what to do.
  findProgram('redis-server');
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
  try {
    const json = join(folder, 'rows.json');
    const script = join(import.meta.dirname, 'run.mjs');
    const text = execFileSync(process.execPath, [script, '--smoke', '--json', json], { encoding: 'utf8' });
    return { text, rows: JSON.parse(readFileSync(json, 'utf8')).rows };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('npm run bench', () => {
  const { text, rows } = smoke();

  it('measures every row that needs no other limiter and no HTTP', () => {
    expect(rows.map(({ what }) => what)).toEqual([
      'a decision : bare Map',
      'a refusal : bare Map',
      'RateLimitService : bare Map',
      'limit 10 → 1,000,000',
      'clients 1 k → 1 M : bare Map',
      'a live client : bare Map',
      'each further limit',
      '1 limit: processor',
      "1 limit: the server's processor",
      '1 limit: one by itself, p50',
      '3 limits: processor',
      "3 limits: the server's processor",
      '3 limits: one by itself, p50',
      'commands, 1 limit: tollgate',
      'trips, 1 limit: tollgate',
      'commands, 3 limits: tollgate',
      'trips, 3 limits: tollgate',
      'commands, one at a time: tollgate',
      'commands, 50 at once: tollgate',
    ]);
    for (const { what, median } of rows) expect(median, what).toSatisfy(Number.isFinite);
  });

  it('needs one command and one round trip for a request over Redis, whatever its limits', () => {
    const wire = rows.filter(({ group }) => group === 'Redis, what a request costs on the wire');
    // The least: while the machine pauses, a round trip looks like two.
    expect(wire.map(({ what, min }) => `${what}: ${min}`)).toEqual([
      'commands, 1 limit: tollgate: 1',
      'trips, 1 limit: tollgate: 1',
      'commands, 3 limits: tollgate: 1',
      'trips, 3 limits: tollgate: 1',
    ]);
  });

  it('prints each row with its bound and whether it is kept', () => {
    for (const { what, bound, met } of rows) {
      const line = text.split('\n').find((printed) => printed.trim().startsWith(what));
      expect(line, what).toBeDefined();
      if (bound !== null) expect(line).toContain(met === true ? 'PASS' : 'miss');
    }
  });
});

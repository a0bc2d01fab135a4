// Failures of other limiters are known by ids (A01 …): each has a test that names it, or a reason why it has none yet.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import ids from './ids.json' with { type: 'json' };

interface Entry {
  readonly tests?: readonly string[];
  readonly reason?: string;
}

const root = join(import.meta.dirname, '../..');
const entries = Object.entries<Entry>(ids);

/** Ids named in the titles of the tests of a file. */
function idsIn(file: string): Set<string> {
  const text = readFileSync(join(root, file), 'utf8');
  const titles = [
    ...text.matchAll(/(?:\b(?:it|test|describe)\b|\])[^'"`\n]*\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g),
  ];
  return new Set(titles.flatMap((title) => title[2].match(/\b[A-P]\d\d\b/g) ?? []));
}

function testFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => !file.includes('node_modules') && file.endsWith('.test.ts'))
    .map((file) => join(folder, file));
}

describe('cases from the field', () => {
  it('all 158 ids are listed, each with its tests or a reason, not both', () => {
    expect(entries).toHaveLength(158);
    for (const [id, { tests, reason }] of entries) {
      const listed = tests !== undefined && tests.length > 0;
      expect(listed !== (reason !== undefined), id).toBe(true);
    }
  });

  it('each listed test file has a test that names the id', () => {
    for (const [id, { tests = [] }] of entries) {
      for (const file of tests) expect(idsIn(file).has(id), `${id} in ${file}`).toBe(true);
    }
  });

  it('no test names an id that the list says has none', () => {
    const named = new Set([...testFiles('test'), ...testFiles('sample')].flatMap((file) => [...idsIn(file)]));
    const stale = entries
      .filter(([id, { reason }]) => reason !== undefined && named.has(id))
      .map(([id]) => id);
    expect(stale).toEqual([]);
  });
});

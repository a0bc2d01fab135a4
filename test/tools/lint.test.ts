// The house rules of lib/ are only as good as the lint behind them, so each is broken here once on purpose.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const bin = join(root, 'node_modules/.bin'); // where oxlint finds tsgolint
const folders = [
  'errors',
  'algorithms',
  'network',
  'responses',
  'events',
  'stores',
  'limiter',
  'policies',
  'balances',
  'nest',
  'testing',
];

/** A file of an imagined lib/, and what the lint must say about it (nothing: the file is fine). */
interface Fixture {
  path: string;
  text: string;
  rules: string[];
}

/** One file per folder and direction: importing from above is fine, from below is not. */
const directions = folders.slice(1).flatMap((folder, from): Fixture[] =>
  folders.slice(1).map((other, to) => ({
    path: `lib/${folder}/deep/imports-${other}.ts`,
    text: `export { a } from '../../${other}/deep/a.js';`,
    rules: to > from ? ['eslint(no-restricted-imports)'] : [],
  })),
);

const nestImports = folders.slice(1).map((folder): Fixture => ({
  path: `lib/${folder}/imports-nest.ts`,
  text: "export { Module } from '@nestjs/common';",
  rules: folder === 'nest' || folder === 'testing' ? [] : ['eslint(no-restricted-imports)'],
}));

const one = (path: string, text: string, ...rules: string[]): Fixture => ({ path, text, rules });
const others = [
  one('lib/errors.ts', "export { a } from './network/a.js';", 'eslint(no-restricted-imports)'),
  one('lib/events/type.ts', "export type { A } from '../nest/a.js';", 'eslint(no-restricted-imports)'),
  one('lib/events/lazy.ts', "export const a = import('../nest/a.js');", 'eslint(no-restricted-imports)'),
  one('lib/nest/barrel.ts', "export { a } from '../index.js';", 'eslint(no-restricted-imports)'),
  one('lib/nest/self.ts', "export { a } from 'nestjs-tollgate';", 'eslint(no-restricted-imports)'),
  one('lib/nest/ring-a.ts', "export { a } from './ring-b.js';", 'import(no-cycle)'),
  one('lib/nest/ring-b.ts', "export { a } from './ring-a.js';", 'import(no-cycle)'),
  one('lib/nest/ws/any.ts', 'export const a: any = 1;', 'typescript(no-explicit-any)'),
  one('lib/nest/ws/as.ts', 'export const a = 1 as number;', 'typescript(consistent-type-assertions)'),
  one('lib/nest/ws/angle.ts', 'export const a = <number>1;', 'typescript(consistent-type-assertions)'),
  one('lib/nest/ws/const.ts', 'export const a = [1] as const;'),
  one('lib/nest/ws/satisfies.ts', 'export const a = { b: 1 } satisfies object;'),
  one(
    'lib/nest/ws/bang.ts',
    'export const f = (a: number | null): number => a!;',
    'typescript(no-non-null-assertion)',
  ),
  one(
    'lib/nest/ws/ignore.ts',
    '// @ts-expect-error why\nexport const a: string = 1;',
    'typescript(ban-ts-comment)',
  ),
  one(
    'lib/nest/ws/floating.ts',
    'const f = async (): Promise<void> => {};\nf();',
    'typescript(no-floating-promises)',
  ),
  one('lib/nest/ws/awaited.ts', 'const f = async (): Promise<void> => {};\nvoid f();'),
  one('lib/nest/ws/console.ts', "console.log('a');", 'eslint(no-console)'),
  one('lib/nest/ws/now.ts', 'export const a = Date.now();', 'eslint(no-restricted-properties)'),
  one('lib/stores/now.ts', 'export const a = performance.now();', 'eslint(no-restricted-properties)'),
  one('lib/stores/clock.ts', 'export const a = Date.now() + performance.now();'),
  one('lib/algorithms/200.ts', 'export const a = 1;\n' + '// a\n'.repeat(199)),
  one('lib/algorithms/201.ts', 'export const a = 1;\n' + '// a\n'.repeat(200), 'eslint(max-lines)'),
];

const fixtures = [...directions, ...nestImports, ...others];
let directory: string;
let found: Map<string, string[]>;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tollgate-lint-'));
  cpSync(join(root, '.oxlintrc.json'), join(directory, '.oxlintrc.json'));
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { strict: true, target: 'ES2023', types: [] } }),
  );
  for (const { path, text } of fixtures) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/oxlint/bin/oxlint'), '--type-aware', '--format=json', 'lib'],
    {
      cwd: directory,
      encoding: 'utf8',
      env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
    },
  );
  expect(stdout, stderr).toMatch(/^\{/);
  const report: { diagnostics: { code: string; filename: string }[] } = JSON.parse(stdout);
  found = new Map();
  for (const { code, filename } of report.diagnostics) {
    const path = filename.replaceAll('\\', '/');
    found.set(path, [...(found.get(path) ?? []), code]);
  }
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

it('finds an import against the direction of the folders, in every pair of folders', () => {
  expect(directions.map(({ path }) => [path, found.get(path) ?? []])).toEqual(
    directions.map(({ path, rules }) => [path, rules]),
  );
});

it('lets only lib/nest and lib/testing import Nest', () => {
  expect(nestImports.map(({ path }) => [path, found.get(path) ?? []])).toEqual(
    nestImports.map(({ path, rules }) => [path, rules]),
  );
});

it.each(others)('$path: $rules', ({ path, rules }) => {
  expect(found.get(path) ?? []).toEqual(rules);
});

it('is nowhere switched off by a comment in lib', () => {
  const texts = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [name, readFileSync(join(root, 'lib', name), 'utf8')]);
  expect(texts.length).toBeGreaterThan(0);
  expect(texts.filter(([, text]) => /(oxlint|eslint)-disable|@ts-nocheck/.test(text ?? ''))).toEqual([]);
});

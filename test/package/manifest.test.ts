// What package.json promises against what the code imports: a package that is missing, or only optional, breaks
// users at their first import, never us, because here everything is installed.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { allImports, hasTopLevelAwait, packageOf, staticImports } from './imports.js';

interface Manifest {
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
  exports: Record<string, string | { types: string; default: string }>;
}

const root = resolve(import.meta.dirname, '../..');
const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const optional = Object.keys(manifest.peerDependenciesMeta ?? {});
const declared = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)];
const always = declared.filter((name) => !optional.includes(name));

/** Not imported by lib/, and still a peer: Nest itself needs one copy of it, the app's. */
const needed = ['reflect-metadata'];

const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => join(root, folder, name));

const packagesOf = (specifiers: string[]): string[] =>
  [...new Set(specifiers.map(packageOf))].filter((name) => name !== null).toSorted();

/** The file and every file of the package that comes with it: through `import()` too for types, not for code. */
function reach(file: string, seen = new Set<string>()): string[] {
  const types = file.endsWith('.d.ts');
  if (seen.has(file)) return [];
  seen.add(file);
  for (const name of types ? allImports(file) : staticImports(file))
    if (name.startsWith('.')) reach(join(dirname(file), types ? name.replace(/\.js$/, '.d.ts') : name), seen);
  return [...seen];
}

it('declares every package that lib/ imports, and no other', () => {
  const imported = packagesOf(filesIn('lib', /\.ts$/).flatMap(allImports));
  expect([...new Set([...imported, ...needed])].toSorted()).toEqual(declared.toSorted());
});

it('has published types that name only packages every user has', () => {
  const subpaths = Object.values(manifest.exports).filter((target) => typeof target !== 'string');
  const named = subpaths.map(({ types }) => packagesOf(reach(join(root, types)).flatMap(allImports)));
  expect(named[0]).toContain('@nestjs/common');
  expect(named.flat().filter((name) => !always.includes(name))).toEqual([]);
});

it('loads from its main entry only packages every user has', () => {
  const loaded = packagesOf(reach(join(root, 'dist/index.js')).flatMap(staticImports));
  expect(loaded).toContain('@nestjs/common');
  expect(loaded.filter((name) => !always.includes(name))).toEqual([]);
});

it('never waits at the top level, so that CommonJS apps can require it', () => {
  const files = filesIn('dist', /\.js$/);
  expect(files).toContain(join(root, 'dist/index.js'));
  expect(files.filter(hasTopLevelAwait)).toEqual([]);
});

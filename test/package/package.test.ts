// What users get, from outside: the packed package in apps of both Nest versions and both module systems.
import { spawn, type ChildProcess } from 'node:child_process';
import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const apps = [
  { nest: '12', folder: 'test/package/nest12', kind: 'module', file: 'app.mjs' },
  { nest: '12', folder: 'test/package/nest12', kind: 'commonjs', file: 'app.cjs' },
  { nest: '11', folder: 'test/nest11', kind: 'module', file: 'app.mjs' },
  { nest: '11', folder: 'test/nest11', kind: 'commonjs', file: 'app.cjs' },
];

let running: ChildProcess | undefined;
afterEach(() => running?.kill('SIGKILL'));

/** Runs the file as if it lay in the folder, so that its imports find that folder's packages; gives its port. */
async function start(folder: string, kind: string, file: string): Promise<string> {
  const child = spawn(process.execPath, [`--input-type=${kind}`, '-'], { cwd: join(root, folder) });
  running = child;
  createReadStream(join(import.meta.dirname, file)).pipe(child.stdin);
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  for await (const line of createInterface(child.stdout)) if (/^\d+$/.test(line)) return line;
  throw new Error(`the app ended before it listened:\n${complaints}`);
}

/** Every file under a folder with its text. */
function texts(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.map((path) => [relative(folder, path), readFileSync(path, 'utf8')]));
}

describe.each(apps)('an app on Nest $nest with $file', ({ nest, folder, kind, file }) => {
  it('limits requests with the installed package', { timeout: 60_000 }, async () => {
    const port = await start(folder, kind, file);
    const statuses: number[] = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await fetch(`http://127.0.0.1:${port}/`)).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('has the package as it was built last, and the Nest it says', () => {
    const installed = join(root, folder, 'node_modules');
    expect(texts(join(installed, 'nestjs-tollgate/dist'))).toEqual(texts(join(root, 'dist')));
    const { version } = JSON.parse(readFileSync(join(installed, '@nestjs/core/package.json'), 'utf8'));
    expect(version).toMatch(new RegExp(`^${nest}\\.`));
  });
});

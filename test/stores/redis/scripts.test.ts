import { build } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { SCRIPTS } from '../../../lib/stores/redis/script.js';

const folder = resolve(import.meta.dirname, '../../../lib/stores/redis');

/** Commands of Redis 6.2 that may run in a script, as far as a store can need them. KEEPTTL and the like: see below. */
const IN_REDIS_6_2 = ['DEL', 'GET', 'MGET', 'PEXPIRE', 'PTTL', 'SET', 'TIME'];
/** Options that came later than 6.2, or change what older servers do. */
const LATER = ['NX', 'XX', 'GT', 'LT', 'IFEQ', 'PXAT', 'EXAT'];

it.each(Object.entries(SCRIPTS))('%s uses only commands that Redis 6.2 has', (_, { text }) => {
  const calls = [...text.matchAll(/redis\.p?call\(([^,)]*)/g)];
  expect(calls.length).toBeGreaterThan(1);
  for (const [, command] of calls) expect(IN_REDIS_6_2.map((name) => `'${name}'`)).toContain(command);
  for (const option of LATER) expect(text).not.toContain(`'${option}'`);
});

it.each(Object.entries(SCRIPTS))('K04 %s touches only the keys it declares', (name, { text }) => {
  const keyed = [...text.matchAll(/redis\.call\('(?!TIME)\w+', ([^,)]+)/g)];
  expect(keyed.length).toBeGreaterThan(0);
  // The lease script hands its keys on by the name `key`.
  const names = name === 'lease' ? ['key'] : ['KEYS[i]', 'unpack(KEYS'];
  for (const [, key] of keyed) expect(names).toContain(key);
  if (name === 'lease') expect(text).toContain('call(KEYS[i], {');
});

it.each(Object.entries(SCRIPTS))(
  '%s says what it takes and returns, and prints numbers whole',
  (_, { text }) => {
    for (const heading of ['-- KEYS', '-- ARGV', '-- Returns']) expect(text).toContain(heading);
    expect(text).not.toContain('tostring(');
    expect(text).not.toContain('${');
  },
);

it('keeps each script in one file of its own, with nothing of the client left to read at run time', () => {
  const files = readdirSync(join(folder, 'scripts')).toSorted();
  expect(files.every((file) => file.endsWith('.lua.ts'))).toBe(true);
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  for (const file of sources)
    expect(readFileSync(join(folder, file), 'utf8'), file).not.toMatch(/node:fs|readFile/);
});

it('K03 keeps its Lua when it is bundled and minified', async () => {
  const { outputFiles } = await build({
    stdin: { contents: "export { SCRIPTS } from './script.ts';", resolveDir: folder },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  const bundled: unknown = await import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
  );
  expect(bundled).toMatchObject({ SCRIPTS });
  for (const { text, sha } of Object.values(SCRIPTS)) {
    expect(sha).toBe(createHash('sha1').update(text).digest('hex'));
  }
});

it('is bundled without any Redis client, loads whichever is installed, and says so when none is', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(folder, 'index.ts')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: ['ioredis', 'iovalkey', 'redis'],
    metafile: true,
    write: false,
  });
  expect(outputFiles[0].text).toContain('import("ioredis")');
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const eager = imports.filter(({ kind }) => kind !== 'dynamic-import').map(({ path }) => path);
  expect(eager.filter((path) => !path.startsWith('node:'))).toEqual([]);

  const empty = mkdtempSync(join(tmpdir(), 'tollgate-bundle-'));
  try {
    writeFileSync(join(empty, 'store.mjs'), outputFiles[0].contents);
    const call =
      "new RedisStore('redis://127.0.0.1:1').peek([{ namespace: 'n', key: 'k', rate: {}, cost: 1 }], 1_000)";
    const script = `import { RedisStore } from './store.mjs'; await ${call}.catch((error) => console.log(error.cause.message));`;
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: empty,
      encoding: 'utf8',
    });
    expect(said).toContain('npm install ioredis (or iovalkey, or redis)');
  } finally {
    rmSync(empty, { recursive: true });
  }
});

import { build } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { SCRIPTS } from '../../../lib/stores/redis/script.js';
import { ownRedis } from '../../tools/servers/own-redis.js';

const folder = resolve(import.meta.dirname, '../../../lib/stores/redis');

let redis: Redis;

ownRedis((client) => {
  redis = client;
});

/** What the server's own documentation says of a command: since when it and each of its options exist. */
async function sinceOf(command: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const read = (about: readonly unknown[], inherited: string): void => {
    const field = (name: string): unknown => about[about.indexOf(name) + 1];
    const since = about.includes('since') ? String(field('since')) : inherited;
    const name = about.includes('token') ? String(field('token')) : command;
    if (!found.has(name)) found.set(name, since);
    const options = about.includes('arguments') ? field('arguments') : [];
    if (Array.isArray(options)) for (const option of options) read(option, since);
  };
  const docs: unknown = await redis.call('COMMAND', 'DOCS', command);
  if (Array.isArray(docs) && Array.isArray(docs[1])) read(docs[1], '1.0.0');
  return found;
}

function isIn62(since: string): boolean {
  const [major, minor] = since.split('.').map(Number);
  return major < 6 || (major === 6 && minor <= 2);
}

it.each(Object.entries(SCRIPTS))(
  '%s uses only commands and options that Redis 6.2 has',
  async (_, { text }) => {
    const calls = [...text.matchAll(/redis\.p?call\('(\w+)'(.*)/g)];
    expect(calls.length).toBe([...text.matchAll(/redis\.p?call/g)].length);
    expect(calls.length).toBeGreaterThan(1);
    for (const [, command, rest] of calls) {
      const since = await sinceOf(command);
      expect(isIn62(since.get(command) ?? 'none'), command).toBe(true);
      for (const [, option] of rest.matchAll(/'([A-Z]+)'/g)) {
        expect(isIn62(since.get(option) ?? since.get(command) ?? 'none'), `${command} ${option}`).toBe(true);
      }
    }
  },
);

it('knows what came after Redis 6.2', async () => {
  expect(isIn62((await sinceOf('PEXPIRE')).get('NX') ?? '')).toBe(false);
  expect(isIn62((await sinceOf('FUNCTION')).get('FUNCTION') ?? '')).toBe(false);
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

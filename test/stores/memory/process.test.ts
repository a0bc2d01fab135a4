import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const lib = resolve(import.meta.dirname, '../../../lib');
let folder: string;

/** The store compiled alone, as a process without a test runner loads it. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-store-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const sources = ['errors.ts', ...['algorithms', 'stores', 'stores/memory'].flatMap(sourcesIn)];
  for (const source of sources) {
    const target = join(folder, source.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    const { outputText } = ts.transpileModule(readFileSync(join(lib, source), 'utf8'), {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
    });
    writeFileSync(target, outputText);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function sourcesIn(name: string): string[] {
  const files = readdirSync(join(lib, name)).filter((file) => file.endsWith('.ts'));
  return files.map((file) => relative(lib, join(lib, name, file)));
}

/** Runs a script with a store and a function that makes buckets; rejects if it fails or is still there after 10 s. */
function run(script: string): Promise<string> {
  const at = (file: string) => JSON.stringify(pathToFileURL(join(folder, file)).href);
  const head = `
    import { MemoryStore } from ${at('stores/memory/memory.store.js')};
    import { createRate } from ${at('algorithms/rate.js')};
    const bucket = (key, hours = 1) =>
      ({ policy: 'p', namespace: 'p', key, cost: 1, rate: createRate('gcra', 2, hours * 3600e6) });`;
  return new Promise((done, fail) => {
    const args = ['--input-type=module', '-e', head + script];
    execFile(process.execPath, args, { timeout: 10_000 }, (error, stdout, stderr) => {
      if (error === null && stderr === '') done(stdout.trim());
      else fail(new Error(`${error?.signal ?? error?.code}: ${stderr}`));
    });
  });
}

describe('a process with a MemoryStore', () => {
  it('H08 ends by itself, though no store was closed', async () => {
    const script = `
      const store = new MemoryStore();
      for (let i = 0; i < 10; i++) console.log(store.consume([bucket('k')])[0].allowed);`;
    expect((await run(script)).split('\n')).toEqual(['true', 'true', ...Array(8).fill('false')]);
  });

  it('H08 holds nothing after a store was closed twice', async () => {
    const script = `
      const store = new MemoryStore();
      store.consume([bucket('k')]);
      store.close();
      store.close();
      console.log(JSON.stringify(process.getActiveResourcesInfo().filter((name) => name.includes('Time'))));`;
    expect(await run(script)).toBe('[]');
  });

  it('H06 is idle when nobody calls, though windows last a year', async () => {
    const script = `
      const store = new MemoryStore();
      for (let i = 0; i < 1000; i++) store.consume([bucket('k' + i, 8760)]);
      setTimeout(() => {
        const before = process.cpuUsage();
        setTimeout(() => {
          const { user, system } = process.cpuUsage(before);
          console.log((user + system) / 10_000);
        }, 1_000);
      }, 300);`;
    const percent = Number(await run(script));
    console.log(`H06: ${percent.toFixed(2)} % of a core while idle`);
    expect(percent).toBeLessThan(10);
  });
});

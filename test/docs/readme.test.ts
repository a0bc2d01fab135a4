// The app of README really boots, is limited as shown, and its commands are those of package.json.
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { curlLines, run, type Base } from './curl.js';
import { blocksOf, root } from './markdown.js';
import { launch } from './snippets.js';

const blocks = blocksOf('README.md');
const ofLanguage = (wanted: string) => blocks.filter(({ language }) => language === wanted);
const lines = ofLanguage('sh').flatMap(({ text }) => curlLines(text));

let app: ChildProcess;
let base: Base;

beforeAll(async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  await once(holder.close(), 'close');
  base = `http://127.0.0.1:${port}`;
  app = launch(ofLanguage('ts')[0], { PORT: String(port) });
  await listening();
}, 60_000);

afterAll(() => app.kill('SIGKILL'));

async function listening(): Promise<void> {
  while (app.exitCode === null) {
    try {
      await fetch(base, { method: 'OPTIONS' });
      return;
    } catch {
      await sleep(50);
    }
  }
  throw new Error('the app of README ended before it listened');
}

it('is an app of some twenty lines', () => {
  const code = ofLanguage('ts')[0]
    .text.split('\n')
    .filter((line) => line !== '');
  expect(code.length).toBeLessThanOrEqual(20);
});

it('limits as README shows', async () => {
  expect(lines).toHaveLength(1);
  const answers = await run(lines[0], base);
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 429]);
  const refusal = answers[3];
  const [head, body] = ofLanguage('http')[0].text.trimEnd().split('\n\n');
  const [statusLine, ...headers] = head.split('\n');
  expect(statusLine).toBe(`HTTP/1.1 429 ${refusal.statusText}`);
  for (const header of headers) {
    const [name, value] = header.split(': ');
    expect(`${name}: ${refusal.headers.get(name)}`).toBe(`${name}: ${value}`);
  }
  expect(await refusal.text()).toBe(body);
});

it('counts every other request of the client network', async () => {
  const answer = await fetch(`${base}/no-such-route`);
  expect(answer.status).toBe(404);
  expect(answer.headers.get('ratelimit-limit')).toBe('600');
});

it('names commands and peers that package.json has', () => {
  const manifest: {
    name: string;
    scripts: Record<string, string>;
    engines: { node: string };
    peerDependencies: Record<string, string>;
    peerDependenciesMeta: Record<string, unknown>;
  } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
  const commands = `${readme}${contributing}`.matchAll(
    /npm (?:run )?(start|test|lint|[a-z]+:[a-z]+|types)\b/g,
  );
  expect(Object.keys(manifest.scripts)).toEqual(
    expect.arrayContaining([...commands].map(([, name]) => name)),
  );
  const needed = Object.keys(manifest.peerDependencies).filter(
    (peer) => manifest.peerDependenciesMeta[peer] === undefined,
  );
  for (const peer of needed) expect(readme).toContain(`\`${peer}\``);
  expect(readme).toContain(`npm i ${manifest.name}\n`);
  expect(manifest.engines.node).toBe('^20.19.0 || >=22.12.0');
});

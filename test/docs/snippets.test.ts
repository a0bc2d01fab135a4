// Every TypeScript block of the documentation compiles, and those marked `run` do what their comments say.
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { blocksOf, documents, type Block } from './markdown.js';
import { launch, typeCheck, type Problems } from './snippets.js';

const blocks = documents.flatMap(blocksOf).filter(({ language }) => language === 'ts');
const named = (block: Block) => ({ name: `${block.file}:${block.line}`, block });

describe('the TypeScript of', () => {
  let problems: Problems;

  beforeAll(() => {
    problems = typeCheck(blocks);
  }, 60_000);

  it.each(blocks.map(named))('$name compiles', ({ block }) => {
    expect(problems.get(block)).toEqual([]);
  });
});

describe('the type check itself', () => {
  it('finds a wrong option, and says where', () => {
    const wrong =
      "import { RateLimitModule } from 'nestjs-tollgate';\n\nRateLimitModule.forRoot({ perIP: null });\n";
    const block: Block = { file: 'x.md', line: 10, language: 'ts', words: [], text: wrong };
    expect(typeCheck([block]).get(block)).toEqual([
      expect.stringMatching(/^x\.md:12: Object literal may only specify known properties, but 'perIP'/),
    ]);
  }, 60_000);
});

describe('what is marked as run', () => {
  const marked = blocks.filter(({ words }) => words.includes('run'));

  it('is something', () => {
    expect(marked.length).toBeGreaterThan(2);
  });

  it.each(marked.map(named))('$name prints what it says', { timeout: 60_000 }, async ({ block }) => {
    const child = launch(block);
    const [printed, complaints, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    expect({ code, complaints }, printed).toEqual({ code: 0, complaints: '' });
    const promised = [...block.text.matchAll(/^\/\/ prints: (.*)$/gm)].map(([, line]) => line);
    if (promised.length > 0) expect(printed.trimEnd().split('\n')).toEqual(promised);
    // Without such comments it is a file of tests.
    else expect(printed).toMatch(/^(# |ℹ )pass [1-9]/m);
  });
});

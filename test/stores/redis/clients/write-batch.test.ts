import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { WriteBatch } from '../../../../lib/stores/redis/clients/write-batch.js';

/** A stream and how many commands each write to it carried. */
function recorded() {
  const writes: number[] = [];
  const stream = new Writable({
    write: (_chunk, _encoding, done) => {
      writes.push(1);
      done();
    },
    writev: (chunks, done) => {
      writes.push(chunks.length);
      done();
    },
  });
  return { stream, writes };
}

async function send(batch: WriteBatch, stream: Writable, commands: number): Promise<void> {
  for (let i = 0; i < commands; i++) {
    batch.add(stream);
    stream.write('command');
  }
  await turn();
}

it('puts the commands of one turn into few writes, the first by itself and at once', async () => {
  const { stream, writes } = recorded();
  const batch = new WriteBatch();
  batch.add(stream);
  stream.write('command');
  expect(writes).toEqual([1]);
  await send(batch, stream, 9);
  expect(writes).toEqual([1, 9]);
});

it('writes no more than 16 together, and begins anew with each turn', async () => {
  const { stream, writes } = recorded();
  const batch = new WriteBatch();
  await send(batch, stream, 40);
  expect(writes[0]).toBe(1);
  expect(Math.max(...writes)).toBe(16);
  expect(writes.reduce((sum, count) => sum + count)).toBe(40);
  expect(writes.length).toBeLessThan(6);
  const before = writes.length;
  await send(batch, stream, 1);
  expect(writes.slice(before)).toEqual([1]);
});

it('leaves alone what is no stream, and holds back nothing', async () => {
  const batch = new WriteBatch();
  const { stream, writes } = recorded();
  for (const none of [undefined, null, {}]) batch.add(none);
  await send(batch, stream, 3);
  expect(writes.reduce((sum, count) => sum + count)).toBe(3);
  expect(stream.writableCorked).toBe(0);
});

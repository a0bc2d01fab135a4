import { expect, it } from 'vitest';
import {
  failureOf,
  isNoScript,
  isWrongServer,
  notDone,
} from '../../../../lib/stores/redis/calls/failures.js';

it.each([
  'READONLY You can not write against a read only replica.',
  'ERR Error running script (call to f_1): @user_script:25: -READONLY You can not write',
  'OOM command not allowed',
  'LOADING Redis is loading the dataset in memory',
  'CLUSTERDOWN The cluster is down',
  'NOAUTH Authentication required.',
  "Stream isn't writeable and enableOfflineQueue options is false",
  'The client is closed',
  'The client is offline',
])('knows that nothing was done: %s', (message) => {
  expect(failureOf(new Error(message), true).code).toBe('TOLLGATE_STORE_NOT_DONE');
});

it.each([
  'Connection is closed.',
  'Socket closed unexpectedly',
  'read ECONNRESET',
  'write EPIPE',
  'EPIPE',
  'C0372E00:error:0A000126:SSL routines::unexpected eof while reading',
  '',
])('knows nothing of a command that was sent: %s', (message) => {
  expect(failureOf(new Error(message), true).code).toBe('TOLLGATE_STORE_UNKNOWN');
  expect(failureOf(new Error(message), false).code).toBe('TOLLGATE_STORE_NOT_DONE');
});

it('takes no error of the system for one of the server', () => {
  const error = Object.assign(new Error('ECONNRESET while reading'), { errno: -104, code: 'ECONNRESET' });
  expect(failureOf(error, true).code).toBe('TOLLGATE_STORE_UNKNOWN');
});

it('keeps the cause, shows only its code, and leaves an error of ours as it is', () => {
  const cause = new Error('WRONGPASS invalid username-password pair secret');
  const error = failureOf(cause, true);
  expect(error.message).toContain('WRONGPASS');
  expect(error.message).not.toContain('secret');
  expect(error.cause).toBe(cause);
  expect(failureOf(error, true)).toBe(error);
  expect(failureOf('no error at all', true).code).toBe('TOLLGATE_STORE_UNKNOWN');
  expect(notDone('why').message).toBe('Redis: why; nothing was done');
});

it('tells a server that is the wrong one, and one that lacks the script', () => {
  expect(isWrongServer(new Error('READONLY x'))).toBe(true);
  expect(isWrongServer(new Error('ERR Error running script: -READONLY x'))).toBe(true);
  expect(isWrongServer(new Error('MASTERDOWN Link with MASTER is down'))).toBe(true);
  expect(isWrongServer(new Error('OOM x'))).toBe(false);
  expect(isNoScript(new Error('NOSCRIPT No matching script.'))).toBe(true);
  expect(isNoScript(new Error('no NOSCRIPT'))).toBe(false);
});

// A Redis named by its URL: the client is whichever package is installed, loaded when it is first needed.

import { badConfiguration, TollgateError } from '../../../errors.js';
import type { Client, ClientSource } from './client.js';
import { ioredisClient, ONE_LIFE } from './ioredis.client.js';
import { nodeRedisClient, oneLife } from './node-redis.client.js';

/** Schemes, and what all clients call them. */
const SCHEMES: Readonly<Record<string, string>> = {
  'redis:': 'redis:',
  'rediss:': 'rediss:',
  'valkey:': 'redis:',
  'valkeys:': 'rediss:',
};

/** @throws TollgateError when it is no URL of a Redis. The message doesn't show it: it may hold a password. */
export function urlSource(text: string): ClientSource {
  const scheme = URL.canParse(text) ? SCHEMES[new URL(text).protocol] : undefined;
  if (scheme === undefined) {
    throw badConfiguration('RedisStore', [
      'the URL is none of redis://, rediss:// or valkey://: give one such as redis://localhost:6379',
    ]);
  }
  const url = scheme + text.slice(text.indexOf('//'));
  return { clustered: false, make: () => installedClient(url) };
}

async function installedClient(url: string): Promise<Client> {
  for (const make of [fromIoredis, fromIovalkey, fromNodeRedis]) {
    const client = await make(url);
    if (client !== null) return client;
  }
  throw new TollgateError(
    'TOLLGATE_BAD_CONFIGURATION',
    'RedisStore with a URL needs a client: npm install ioredis (or iovalkey, or redis)',
  );
}

async function fromIoredis(url: string): Promise<Client | null> {
  try {
    const { Redis } = await import('ioredis');
    return ioredisClient(new Redis(url, ONE_LIFE));
  } catch (error) {
    return ignoreMissing(error);
  }
}

async function fromIovalkey(url: string): Promise<Client | null> {
  try {
    const { Redis } = await import('iovalkey');
    return ioredisClient(new Redis(url, ONE_LIFE));
  } catch (error) {
    return ignoreMissing(error);
  }
}

async function fromNodeRedis(url: string): Promise<Client | null> {
  try {
    const { createClient } = await import('redis');
    return nodeRedisClient(createClient({ url, ...oneLife({}) }));
  } catch (error) {
    return ignoreMissing(error);
  }
}

/** A package that isn't installed is no error: another may be. */
function ignoreMissing(error: unknown): null {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return null;
  throw error;
}

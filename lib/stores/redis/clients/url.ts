// A Redis named by its URL: the client is whichever package is installed, loaded when it is first needed.

import { badConfiguration } from '../../../errors.js';
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
  const [, scheme, rest] = /^(\w+:)(\/\/[^/].*)$/.exec(text) ?? [];
  const known = scheme === undefined ? undefined : SCHEMES[scheme.toLowerCase()];
  if (known === undefined || !URL.canParse(text) || new URL(text).hostname === '') {
    throw badConfiguration('RedisStore', [
      'the URL is none of redis://, rediss:// or valkey:// with a host: give one such as redis://localhost:6379',
    ]);
  }
  const url = known + rest;
  return {
    clustered: false,
    load: async () => void (await installed()),
    make: async () => (await installed())(url),
  };
}

type Make = (url: string) => Client;

const PACKAGES: readonly (() => Promise<Make>)[] = [
  async () => {
    const { Redis } = await import('ioredis');
    return (url) => ioredisClient(new Redis(url, ONE_LIFE));
  },
  async () => {
    const { Redis } = await import('iovalkey');
    return (url) => ioredisClient(new Redis(url, ONE_LIFE));
  },
  async () => {
    const { createClient } = await import('redis');
    return (url) => nodeRedisClient(createClient({ url, ...oneLife({}) }));
  },
];

/** The first client package that is installed. */
async function installed(): Promise<Make> {
  for (const load of PACKAGES) {
    try {
      return await load();
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  throw badConfiguration('RedisStore', [
    'a URL needs a client package and none is installed: npm install ioredis (or iovalkey, or redis)',
  ]);
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
}

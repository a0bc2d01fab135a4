// The servers that stand between a browser and an API, over real connections: reverse proxies, and a server that renders
// pages and calls the API for its visitors, as Next.js does.

import {
  createServer,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { onTestFinished } from 'vitest';
import type { Target } from '../../e2e/support/client.js';

/** Appends its peer to X-Forwarded-For, whatever the peer wrote there; after `limit` requests it refuses by itself. */
export function startProxy(upstream: Target, limit = Infinity): Promise<Target> {
  let passed = 0;
  return listen(
    createServer((incoming, outgoing) => {
      if (++passed > limit) {
        outgoing.writeHead(429, { server: 'gateway' }).end();
        return;
      }
      const written = incoming.headers['x-forwarded-for'];
      const peer = incoming.socket.remoteAddress ?? '';
      const forwarded = written === undefined ? peer : `${String(written)}, ${peer}`;
      const headers = { ...incoming.headers, 'x-forwarded-for': forwarded };
      relay(upstream, incoming, headers, outgoing);
    }),
  );
}

/**
 * Calls the API for each visitor, from its own address. It sees the headers of its visitors and not their connections:
 * of `hops` reverse proxies in front of it the first has written the n-th entry from the right. With 0 nobody vouches for
 * any entry, and it names no visitor.
 */
export function startRenderer(api: Target, hops: number): Promise<Target> {
  return listen(
    createServer((incoming, outgoing) => {
      const { 'x-forwarded-for': written, ...headers } = incoming.headers;
      const entries = String(written ?? '')
        .split(',')
        .map((entry) => entry.trim());
      const visitor = hops > 0 ? entries.at(-hops) : undefined;
      const named =
        visitor === undefined || visitor === '' ? headers : { ...headers, 'x-forwarded-for': visitor };
      relay(api, incoming, named, outgoing);
    }),
  );
}

/** Answers with what `to` says to this request under these headers; 502 when that can't be reached. */
function relay(
  to: Target,
  incoming: IncomingMessage,
  headers: IncomingHttpHeaders,
  outgoing: ServerResponse,
): void {
  const { url: path, method } = incoming;
  const inner = request(
    { host: '127.0.0.1', port: to.port, path, method, headers, agent: false },
    (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    },
  );
  inner.on('error', () => {
    if (!outgoing.headersSent) outgoing.writeHead(502);
    outgoing.end();
  });
  incoming.pipe(inner);
}

function listen(server: Server): Promise<Target> {
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('the server has no port');
      resolve({ port: address.port });
    });
  });
}

// A Redis or Valkey of a test's own: its own port and folder, gone when the test file is done.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, type Program } from './programs.js';

export class RedisServer {
  private child: ChildProcess | null = null;
  private readonly folder = mkdtempSync(join(tmpdir(), 'tollgate-redis-'));
  private readonly config = join(this.folder, 'sentinel.conf');
  private readonly kill = (): void => void this.child?.kill('SIGKILL');

  private constructor(
    readonly port: number,
    private readonly program: Program,
    private readonly args: readonly string[],
  ) {
    process.once('exit', this.kill);
  }

  /** Starts one; `args` as on its command line, `port` a free one by default. */
  static async start(
    program: Program = 'redis-server',
    args: readonly string[] = [],
    port?: number,
  ): Promise<RedisServer> {
    const server = new RedisServer(port ?? (await freePort()), program, args);
    await server.resume();
    return server;
  }

  /** Starts one that watches over others, by the lines of its config file. */
  static async startSentinel(lines: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), 'redis-server', ['--sentinel']);
    writeFileSync(server.config, lines.join('\n'));
    await server.resume();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts again after `crash`, empty. */
  async resume(): Promise<void> {
    const { path, env } = findProgram(this.program);
    const own = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.folder];
    const config = existsSync(this.config) ? [this.config] : ['--save', '', '--appendonly', 'no'];
    this.child = spawn(path, [...config, ...own, ...this.args], { env, stdio: 'ignore' });
    for (let tries = 0; !(await answers(this.port)); tries++) {
      if (tries > 400 || this.child.exitCode !== null) throw new Error(`${this.program} did not start`);
      await sleep(10);
    }
  }

  /** Ends it as a crash would; what it held is gone. */
  async crash(): Promise<void> {
    const { child } = this;
    this.child = null;
    if (child === null || child.exitCode !== null) return;
    await new Promise((resolve) => {
      child.once('exit', resolve);
      child.kill('SIGKILL');
    });
  }

  /** Lets it hang: it keeps its connections and answers nothing. */
  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    process.off('exit', this.kill);
    await this.crash();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A port free on 127.0.0.1, whose cluster bus port is too. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 25_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.once('data', (data) => {
      resolve(data.toString().startsWith('+PONG'));
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}

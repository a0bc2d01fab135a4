// A line to a server that a test can cut, mute or hold up.
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export class Proxy {
  /** The next reply is thrown away and the connection cut, once. */
  cutNextReply = false;
  /** Of the pieces in which replies come, each a reply or a few, every so manieth is thrown away; 0: none. */
  dropEvery = 0;
  /** Milliseconds by which each reply is held up. None overtakes another when it is lowered. */
  delay = 0;
  /** Connections accepted so far. */
  connections = 0;
  /** Pieces thrown away so far, those of cut connections included. */
  dropped = 0;
  private pieces = 0;
  private readonly sockets = new Set<Socket>();
  private readonly muted = new WeakSet<Socket>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async start(to: number): Promise<Proxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const proxy = new Proxy(server, address.port);
    server.on('connection', (client) => proxy.link(client, connect(to, '127.0.0.1')));
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Keeps replies from the clients that are connected now, which stay so. Those that connect later get theirs. */
  mute(): void {
    for (const socket of this.sockets) this.muted.add(socket);
  }

  /** Cuts all connections. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private link(client: Socket, server: Socket): void {
    this.connections++;
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ]) {
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (data) => server.write(data));
    let passed = Promise.resolve();
    server.on('data', (data) => {
      if (this.cutNextReply) {
        this.cutNextReply = false;
        this.dropped++;
        client.destroy();
      } else if (this.dropEvery > 0 && ++this.pieces % this.dropEvery === 0) {
        this.dropped++;
      } else if (!this.muted.has(client)) {
        passed = this.pass(data, client, passed);
      }
    });
  }

  /** Passes a reply on, behind those before it. */
  private async pass(data: Buffer, client: Socket, before: Promise<void>): Promise<void> {
    const held = this.delay > 0 ? sleep(this.delay, undefined, { ref: false }) : null;
    await before;
    await held;
    client.write(data);
  }
}

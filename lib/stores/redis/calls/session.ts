// A client while it lives, and what is known of each server behind it. All of it ends with the client.

import { ONLY_SERVER } from '../../outages.js';
import type { Client } from '../clients/client.js';
import { keySlot, SLOTS } from '../key-slot.js';
import { Server } from './server.js';

export class Session {
  private readonly servers = new Map<string, Server>();

  /** `onSilence` is called when a server has stopped answering and its connection can't be replaced by itself. */
  constructor(
    readonly client: Client,
    private readonly clustered: boolean,
    private readonly onSilence: (session: Session) => void,
  ) {}

  /** By what name the server of `key` is known to fail: only those of a cluster fail apart. */
  nameOf(key: string): string {
    return this.clustered ? this.client.serverOf(keySlot(key)) : ONLY_SERVER;
  }

  has(name: string): boolean {
    if (!this.clustered) return name === ONLY_SERVER;
    for (let slot = 0; slot < SLOTS; slot++) if (this.client.serverOf(slot) === name) return true;
    return false;
  }

  /** The server that holds `key`, as far as the client knows now. */
  serverOf(key: string): Server {
    const slot = this.clustered ? keySlot(key) : 0;
    const name = this.client.serverOf(slot);
    const known = this.servers.get(name);
    if (known !== undefined) return known;
    const server = new Server(() => {
      if (!this.client.recycle(slot)) this.onSilence(this);
    });
    this.servers.set(name, server);
    return server;
  }
}

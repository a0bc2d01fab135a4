// The audit trail as a file of JSON lines. Rows that come while one batch is being written are the next batch.
import type { OnApplicationShutdown } from '@nestjs/common';
import { AuditSink, type AuditEntry } from 'nestjs-tollgate';
import { appendFile } from 'node:fs/promises';

export class AuditFile extends AuditSink implements OnApplicationShutdown {
  private rows: string[] = [];
  /** The batch that takes new rows: it waits for the one that is being written. */
  private next: Promise<void> | null = null;
  private last: Promise<void> = Promise.resolve();

  constructor(readonly path: string) {
    super();
  }

  /**
   * Settles when the row is in the file. Rejects when its batch could not be written: its rows are lost, and the
   * package says so in the log.
   */
  override write(entry: AuditEntry): Promise<void> {
    this.rows.push(`${JSON.stringify(entry)}\n`);
    this.next ??= this.writeBatch();
    return this.next;
  }

  /** Nobody is refused any more: what is left goes to the file before the process ends. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.allSettled([this.last, this.next]);
  }

  private async writeBatch(): Promise<void> {
    await this.last.catch(() => {});
    const batch = this.rows.splice(0).join('');
    this.last = appendFile(this.path, batch);
    this.next = null;
    await this.last;
  }
}

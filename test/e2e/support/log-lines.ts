// What an app logs, line by line, as its operator would see it.

import type { LoggerService } from '@nestjs/common';

export interface LogLine {
  readonly level: 'log' | 'warn' | 'error' | 'debug' | 'verbose' | 'fatal';
  readonly message: string;
  /** Who logged it: `RateLimit` are this package's lines. */
  readonly context: string;
}

/** Pass it as `logger`. Nest's logger is one per process: it has the lines of the app booted last. */
export class LogLines implements LoggerService {
  readonly all: LogLine[] = [];

  /** Messages of this package, but for the lines of refusals. */
  own(level: LogLine['level']): string[] {
    return this.every(level).filter((message) => !/(?:rate limit|throttle) exceeded/.test(message));
  }

  /** Messages of this package. */
  every(level: LogLine['level']): string[] {
    return this.all
      .filter((line) => line.level === level && line.context === 'RateLimit')
      .map(({ message }) => message);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.add('log', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.add('warn', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.add('error', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.add('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.add('verbose', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.add('fatal', message, rest);
  }

  private add(level: LogLine['level'], message: unknown, rest: readonly unknown[]): void {
    const text = message instanceof Error ? (message.stack ?? message.message) : String(message);
    const context = rest.at(-1);
    this.all.push({ level, message: text, context: typeof context === 'string' ? context : '' });
  }
}

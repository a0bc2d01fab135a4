// What a Redis server itself says it has done: the commands that clients sent it, and the processor time it took.
import { Redis } from 'ioredis';

/** Commands that scripts of the contenders call. The server counts those too, but no client sent them. */
const IN_SCRIPTS = 'time mget get set incr incrby pttl expire pexpire del'.split(' ');

export class Meter {
  constructor(port) {
    this.redis = new Redis(port, '127.0.0.1');
  }

  /** `commands` that clients sent so far, `cpu` in nanoseconds. */
  async read() {
    const info = await this.redis.info('commandstats', 'cpu');
    let commands = 0;
    for (const [, name, calls] of info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)) {
      if (name !== 'info' && !IN_SCRIPTS.includes(name)) commands += Number(calls);
    }
    const seconds = (name) => Number(new RegExp(`^used_cpu_${name}:(\\S+)`, 'm').exec(info)[1]);
    return { commands, cpu: (seconds('user') + seconds('sys')) * 1e9 };
  }

  close() {
    this.redis.disconnect();
  }
}

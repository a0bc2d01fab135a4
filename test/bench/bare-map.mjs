// The yardstick: the least that a limiter in memory can be. One Map, one clock, the arithmetic of GCRA, and a result.

export class BareMap {
  constructor(limit, window) {
    this.unit = Math.ceil(window / limit);
    this.capacity = this.unit * limit;
    this.tats = new Map();
  }

  consume(key) {
    const now = Math.floor(performance.now() * 1000);
    const tat = this.tats.get(key);
    const used = tat !== undefined && tat > now ? tat - now : 0;
    const after = used + this.unit;
    if (after > this.capacity) {
      return {
        allowed: false,
        remaining: Math.floor((this.capacity - used) / this.unit),
        resetAfter: used,
        retryAfter: after - this.capacity,
      };
    }
    this.tats.set(key, now + after);
    return {
      allowed: true,
      remaining: Math.floor((this.capacity - after) / this.unit),
      resetAfter: after,
      retryAfter: 0,
    };
  }
}

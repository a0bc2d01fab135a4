// What one request has waited for stores already: however many steps it takes, they share its time.

export class StoreTime {
  /** Milliseconds. */
  waited = 0;
}

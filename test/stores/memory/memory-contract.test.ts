import { describe, it } from 'vitest';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { storeContract } from '../../../lib/testing/store-contract.js';

describe('MemoryStore keeps the contract of stores', () => {
  storeContract({
    test: it,
    create: (clock) => new MemoryStore({ clock }),
    count: (store) => store.size,
  });
});

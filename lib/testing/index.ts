// What an app's own tests, and authors of stores, need: every public name of `nestjs-tollgate/testing`.

export { FakeClock } from './fake-clock.js';
export { clearLimits, limitsOff, limitsOn } from './limits.js';
export { storeContract, type StoreContractOptions } from './store-contract.js';

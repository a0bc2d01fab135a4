// The hash slot of a key, as the Redis Cluster specification defines it: CRC16 (XMODEM) of the tag, modulo 16384.

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

/** How many a cluster has. */
export const SLOTS = 16_384;

export function keySlot(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tagOf(key))) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ byte];
  return crc % SLOTS;
}

/** What stands between the first `{` and the next `}`, if anything does; else the whole key. */
function tagOf(key: string): string {
  const start = key.indexOf('{');
  const end = key.indexOf('}', start + 1);
  return start === -1 || end <= start + 1 ? key : key.slice(start + 1, end);
}

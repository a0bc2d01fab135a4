// The clients that every contender serves: the same addresses, in the same order without a pattern.

/** `count` addresses, each once, shuffled the same way in every run. */
export function clients(count) {
  const keys = Array.from({ length: count }, (_, i) => address(i));
  let seed = 42;
  for (let i = count - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((seed / 2 ** 32) * (i + 1));
    [keys[i], keys[other]] = [keys[other], keys[i]];
  }
  return keys;
}

/** The address of a number below 2^24, a new text each time. */
export function address(number) {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}

// Partition keys: short, printable, and never a secret that a store or a log could show.

import { createHash } from 'node:crypto';

/** Kinds of identity. Keys of different kinds never meet, whatever they are. */
export type IdentityKind = 'user' | 'network' | 'key' | 'token' | 'all' | 'custom' | 'service';

const LONGEST = 64;
const DIGEST_MARK = '#';

/** The text itself when it is short and printable, else its digest. Different texts give different keys. */
export function partitionKey(text: string): string {
  // A text that looks like a digest is digested too: nobody can name another's key.
  return text.length <= LONGEST && isPlain(text) && !text.startsWith(DIGEST_MARK) ? text : digestKey(text);
}

/** Printable ASCII without spaces. A loop costs a third of what a regular expression does. */
function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x21 || code > 0x7e) return false;
  }
  return text !== '';
}

/** Always a digest: for what clients send, and for everything that may be secret. */
export function digestKey(text: string): string {
  // UTF-16, as it is: UTF-8 would turn every lone surrogate into the same character.
  return DIGEST_MARK + createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url');
}

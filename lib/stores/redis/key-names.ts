// The names of our keys: the subject in braces, so that one client's buckets lie in one slot of a cluster.

import type { Algorithm } from '../../algorithms/rate.js';
import type { BucketName } from '../store.js';

/** Counted up when stored values change their meaning: versions of this package that differ in it share no key. */
const SCHEMA = '1';
/** What keys and scripts call the algorithms. */
export const KINDS: Readonly<Record<Algorithm, string>> = { gcra: 'g', fixed: 'f' };
/** What would end the tag early, or be read as an escape. */
const SPECIAL = /[{}%]/g;

/** `tollgate:1:{user}g:namespace`. The subject is escaped, so the braces are always ours. */
export class KeyNames {
  private readonly prefix: string;

  /** `keyPrefix` has no braces: a cluster would read them as the tag. */
  constructor(keyPrefix: string) {
    this.prefix = `${keyPrefix}${SCHEMA}:{`;
  }

  bucket({ namespace, key }: BucketName, algorithm: Algorithm): string {
    return `${this.prefix}${tag(key)}}${KINDS[algorithm]}:${namespace}`;
  }

  /** All keys a bucket may have: its policy's algorithm may have changed. */
  all(name: BucketName): string[] {
    return [this.bucket(name, 'gcra'), this.bucket(name, 'fixed')];
  }

  account({ namespace, key }: BucketName): string {
    return `${this.prefix}${tag(key)}}l:${namespace}`;
  }
}

function tag(key: string): string {
  // An empty tag is none. A percent sign alone is no escaped text.
  return key === '' ? '%' : key.replace(SPECIAL, encodeURIComponent);
}

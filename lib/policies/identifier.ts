// What makes two spellings of a sign-in identifier the same: at least what makes them the same to any account lookup.

import { nameOf } from '../errors.js';
import type { Report } from '../events/event.js';
import { ignoreLate } from '../limiter/late-answer.js';
import { createLetters, NO_CHARACTER } from './letters.js';

const PRINTABLE_ASCII = /^[\x21-\x7e]*$/;

/** What is one character to a database that knows no more than the first plane, such as MySQL's general_ci. */
const BEYOND = /[\u{10000}-\u{10ffff}]/gu;

let letters: ReadonlyMap<string, string> | null = null;

/**
 * The same text for all spellings that an account lookup may take for one: whatever their case, accents, width, blanks
 * and invisible characters; ligatures as their letters, digits of all scripts, ß as s. Distinct identifiers may fold to
 * one. Empty: unusable. What is the same in one language only (`ü` and `y` in latin1_swedish_ci) is not folded.
 */
export function foldIdentifier(text: string): string {
  let folded = text;
  if (PRINTABLE_ASCII.test(text)) {
    folded = text.toLowerCase();
  } else {
    // Character by character: to normalise a long run of marks takes the square of its length.
    letters ??= createLetters();
    folded = '';
    for (const char of text) folded += letters.get(char) ?? char;
    folded = folded.normalize('NFKD').replaceAll(BEYOND, NO_CHARACTER);
  }
  // ß is ss to most lookups, s to general_ci.
  return folded.replaceAll(/s{2,}/g, 's');
}

/** Makes what folding needs, which takes a moment, before there is a request that would wait for it. */
export function prepareFolding(): void {
  letters ??= createLetters();
}

/** Reads identifiers as the app's account lookup does. */
export class Identifiers {
  /** `fold` is the app's own; null: `foldIdentifier`. */
  constructor(
    private readonly fold: ((text: string) => unknown) | null,
    private readonly report: Report,
  ) {}

  /** The folded identifier; empty when it is unusable: no text, or a text of nothing. */
  of(value: unknown): string {
    if (typeof value !== 'string') return '';
    return this.foldedByApp(value) ?? foldIdentifier(value);
  }

  private foldedByApp(text: string): string | null {
    if (this.fold === null) return null;
    try {
      const folded = this.fold(text);
      if (typeof folded === 'string') return folded;
      ignoreLate(folded);
      this.reject(`it returned ${folded === null ? 'null' : `a value of type ${typeof folded}`}`);
    } catch (error) {
      this.reject(`it threw ${nameOf(error)}`);
    }
    return null;
  }

  private reject(problem: string): void {
    this.report({ type: 'unusable-key', policy: 'login.fold', problem });
  }
}

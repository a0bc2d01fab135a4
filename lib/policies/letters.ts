// Which characters account lookups take for the same, as databases do that compare without case and accents.

/**
 * What is left out: blanks, control and format characters, marks. With the Greek iota and the middle dot, which one
 * lookup sees where another sees a mark (ᾳ, ŀ), and the Thai vowels that collations move behind their consonant.
 */
const IGNORED =
  /[\p{M}\p{Z}\p{Cc}\p{Cf}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Logical_Order_Exception}\u2800ι·]/u;
const ALL_IGNORED = new RegExp(IGNORED.source, 'gu');

/** Letters, digits and signs. Of Hangul only the normal form matters, which takes no table. */
const COLLATED = /^(?!\p{Script=Hangul})[\p{L}\p{N}\p{P}\p{S}]$/u;

/** What every encoder makes of half a surrogate pair. */
export const NO_CHARACTER = '\ufffd';
const LONE_SURROGATE = /\p{Cs}/u;

/** Where such characters have other spellings; at last compatibility ideographs, and tags. */
const PLANES = [
  [0, 0x1_ffff],
  [0x2_f800, 0x2_fa1f],
  [0xe_0000, 0xe_0fff],
] as const;

/** What each character folds to, where that isn't itself. Takes a quarter of a second: made once it is needed. */
export function createLetters(): ReadonlyMap<string, string> {
  const folds = new Map<string, string>();
  const plain: string[] = [];
  for (const [first, last] of PLANES) {
    for (let code = first; code <= last; code++) {
      const char = String.fromCodePoint(code);
      if (IGNORED.test(char)) folds.set(char, '');
      else if (LONE_SURROGATE.test(char)) folds.set(char, NO_CHARACTER);
      else if (COLLATED.test(char)) {
        const fold = withoutForm(char);
        if (fold === char) plain.push(char);
        else folds.set(char, fold);
      }
    }
  }
  const firsts = firstsOf(plain);
  for (const [char, fold] of folds) {
    folds.set(char, Array.from(fold, (letter) => firsts.get(letter) ?? letter).join(''));
  }
  for (const [char, first] of firsts) folds.set(char, first);
  return folds;
}

/** Without compatibility forms, marks and case. */
function withoutForm(char: string): string {
  // ẞ → ß → SS → ss. By itself no sigma is a final one.
  const cased = char.normalize('NFKD').toLowerCase().toUpperCase().toLowerCase();
  return cased.normalize('NFKD').replaceAll(ALL_IGNORED, '');
}

/** The first of all that a collation without case and accents takes for the same, nothing and several letters too. */
function firstsOf(chars: readonly string[]): Map<string, string> {
  // English has the order of the Unicode Collation Algorithm, unchanged. Of a server's own language nothing is asked.
  const { compare } = new Intl.Collator('en', { sensitivity: 'base', ignorePunctuation: false });
  const ascii = Array.from('abcdefghijklmnopqrstuvwxyz0123456789');
  const several = [...ascii.flatMap((one) => ascii.map((other) => one + other)), 'a/s', 'וו', 'וי', 'יי'];
  const firsts = new Map<string, string>();
  let first = '';
  // Stable, so the first of those that are the same is the simplest.
  for (const text of ['', ...several, ...chars].toSorted(compare)) {
    if (compare(first, text) !== 0) first = text;
    if (text !== first) firsts.set(text, first);
  }
  return firsts;
}

// What the Markdown files of the repository hold: their fenced blocks, headings and links.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

/** A fenced block. */
export interface Block {
  /** The file it is in, from the root, with forward slashes. */
  readonly file: string;
  /** The line of its first character in that file, from 1. */
  readonly line: number;
  /** The first word behind the fence: `ts`, `sh`, `http`. */
  readonly language: string;
  /** The other words behind the fence: `run`. */
  readonly words: readonly string[];
  readonly text: string;
}

/** The Markdown files for readers, from the root, with forward slashes. */
export const documents: readonly string[] = [
  ...within('', /\.md$/),
  ...within('docs', /\.md$/),
  ...within('sample', /./)
    .map((folder) => `${folder}/README.md`)
    .filter((file) => existsSync(join(root, file))),
];

/** What a folder holds, by name, as paths from the root. */
function within(folder: string, wanted: RegExp): string[] {
  const names = readdirSync(join(root, folder)).filter((name) => wanted.test(name));
  return names.toSorted().map((name) => (folder === '' ? name : `${folder}/${name}`));
}

export function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** The fenced blocks of a file, in their order. */
export function blocksOf(file: string): Block[] {
  const fence = /^```(\w*)([^\n]*)\n([\s\S]*?)^```$/gm;
  const content = textOf(file);
  return [...content.matchAll(fence)].map(({ index, 1: language, 2: words, 3: text }) => ({
    file,
    line: content.slice(0, index).split('\n').length + 1,
    language,
    words: words.trim().split(/ +/),
    text,
  }));
}

/** The text of a file without its fenced blocks. */
export function proseOf(file: string): string {
  return textOf(file).replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** The text from a heading of the second level to the next one. */
export function sectionOf(file: string, heading: string): string {
  const sections = `\n${textOf(file)}`.split('\n## ');
  const found = sections.find((section) => section.startsWith(`${heading}\n`));
  if (found === undefined) throw new Error(`${file} has no section '${heading}'`);
  return found;
}

/** The cells of every table row of a text, without backticks and without the heads. */
export function rowsOf(text: string): string[][] {
  return [...text.matchAll(/^\| ?-.*\n((?:\|.*\n?)*)/gm)]
    .flatMap(([, body]) => body.trimEnd().split('\n'))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
}

/** The texts of the headings of a file, without backticks. */
export function headingsOf(file: string): string[] {
  return [...proseOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading.replaceAll('`', ''));
}

// What names a handler's counter: the same in every process and after minification, whatever URL led to the handler.

import { RequestMethod } from '@nestjs/common';

/** Metadata keys of Nest that hold on 11 and 12. */
const PATH = 'path';
const METHOD = 'method';
const VERSION = '__version__';
const HOST = 'host';

/** A handler that requests are routed to. */
export interface Route {
  readonly controller: Function;
  readonly method: string;
  readonly handler: Function;
  /** Names its counters. */
  readonly identity: string;
}

/** Whether Nest routes requests to this function. */
export function isRoute(handler: Function): boolean {
  return Reflect.hasMetadata(PATH, handler) && Reflect.hasMetadata(METHOD, handler);
}

/**
 * The lowest `METHOD path version` of a handler: aliases, versions and HEAD share its counter, controllers of the
 * same class name don't. `modulePath` is what RouterModule puts in front.
 */
export function routeIdentity(controller: Function, handler: Function, modulePath: string): string {
  const method = RequestMethod[Number(Reflect.getMetadata(METHOD, handler))] ?? 'ALL';
  const version = textsOf(Reflect.getMetadata(VERSION, handler) ?? Reflect.getMetadata(VERSION, controller));
  const host = textsOf(Reflect.getMetadata(HOST, controller));
  const names: string[] = [];
  for (const base of textsOf(Reflect.getMetadata(PATH, controller))) {
    for (const path of textsOf(Reflect.getMetadata(PATH, handler))) {
      names.push(`${method} ${joinPath(modulePath, base, path)}`);
    }
  }
  const lowest = names.toSorted()[0] ?? `${method} /`;
  const suffix = [version.toSorted()[0] ?? '', host.toSorted()[0] ?? ''].filter((part) => part !== '');
  return [lowest, ...suffix].join(' ');
}

function joinPath(...parts: readonly string[]): string {
  return `/${parts
    .flatMap((part) => part.split('/'))
    .filter((part) => part !== '')
    .join('/')}`;
}

/** One text or several, as Nest's metadata has either; symbols (VERSION_NEUTRAL) by their description. */
function textsOf(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.map((item) => (typeof item === 'symbol' ? (item.description ?? '') : String(item)));
}

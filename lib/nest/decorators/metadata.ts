// How decorators leave what they say on handlers and classes, and how it is found again.

import 'reflect-metadata';
import { badConfiguration } from '../../errors.js';

/** Sets metadata on a method's function or a class; twice on the same target is an error, as one would be lost. */
export function setOnce(
  key: string,
  value: unknown,
  target: object,
  descriptor: PropertyDescriptor | undefined,
  where: string,
): void {
  const holder: unknown = descriptor === undefined ? target : descriptor.value;
  if (typeof holder !== 'function') {
    throw badConfiguration(where, ['only methods and classes can be decorated']);
  }
  if (hasOwnMetadata(key, holder)) {
    throw badConfiguration(where, [
      'it is decorated twice and one would be lost: use one decorator with a list',
    ]);
  }
  Reflect.defineMetadata(key, value, holder);
}

/** Whether a function itself carries the metadata, not one that it overrides or extends. */
export function hasOwnMetadata(key: string, holder: object): boolean {
  return Reflect.hasOwnMetadata(key, holder);
}

/** A target as messages name it: `Class.method` or `Class`. */
export function targetName(target: object, key?: string | symbol): string {
  const holder = typeof target === 'function' ? target : target.constructor;
  return key === undefined ? holder.name : `${holder.name}.${String(key)}`;
}

/**
 * What is said of a handler: on the method itself or, where a subclass overrides it without a word, on the method it
 * overrides; else on the class or one of its bases. Undefined when nothing is.
 */
export function findMetadata(key: string, controller: Function, method: string): unknown {
  for (let proto: unknown = controller.prototype; isObject(proto); proto = Object.getPrototypeOf(proto)) {
    const handler: unknown = Object.getOwnPropertyDescriptor(proto, method)?.value;
    if (typeof handler === 'function' && hasOwnMetadata(key, handler)) {
      return Reflect.getOwnMetadata(key, handler);
    }
  }
  return Reflect.getMetadata(key, controller);
}

/** Everything that is said of a class, its bases and their methods. */
export function allMetadata(key: string, controller: Function): unknown[] {
  const holders: unknown[] = [controller];
  for (let proto: unknown = controller.prototype; isObject(proto); proto = Object.getPrototypeOf(proto)) {
    for (const { value } of Object.values(Object.getOwnPropertyDescriptors(proto))) holders.push(value);
  }
  return holders
    .filter((holder) => typeof holder === 'function')
    .map((holder) => Reflect.getMetadata(key, holder))
    .filter((found) => found !== undefined);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

// What happens when a function of the app that must answer at once (`limit`, `by`, `skipIf`) is async by mistake.

/** Takes a promise out of the way: nobody waits for it, and left alone its rejection would end the process. */
export function ignoreLate(answer: unknown): void {
  if (answer instanceof Promise) answer.catch(() => {});
}

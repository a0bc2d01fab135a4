// The query of a URL as it was sent, whatever the framework made of it.

export function queryOf(url: string | undefined): URLSearchParams {
  const start = url?.indexOf('?') ?? -1;
  return new URLSearchParams(url === undefined || start < 0 ? '' : url.slice(start + 1));
}

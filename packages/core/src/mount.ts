// Where a transport is mounted: its path, with and without a trailing slash, and nothing longer.

/** Is this request path the mounted one? No redirects: a POST would lose its body. */
export function isMountedAt(mounted: string, path: string): boolean {
  const bare = withoutSlash(mounted)
  return path === bare || path === `${bare}/`
}

export function withoutSlash(path: string): string {
  return path.replace(/\/+$/, '')
}

/** Conditional requests. RFC 9110 §13.1.2. */

/** Whether an If-None-Match field names the entity tag: then the answer is 304 without a body. Weak comparison, as a GET wants it. */
export function namesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const strong = (tag: string): string => tag.trim().replace(/^W\//, "")
  return ifNoneMatch.split(",").some(tag => tag.trim() === "*" || strong(tag) === strong(etag))
}

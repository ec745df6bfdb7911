/** Conditional requests. RFC 9110 §8.8.3 and §13.1.2. */
import { sha256Hex } from "@runseal/canonical"

/** The strong entity tag of these bytes: other bytes have another, whatever they say of themselves. */
export const entityTag = (bytes: Uint8Array): string => `"${sha256Hex(bytes)}"`

/** Whether an If-None-Match field names the entity tag: then the answer is 304 without a body. Weak comparison, as a GET wants it. */
export function namesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const strong = (tag: string): string => tag.trim().replace(/^W\//, "")
  return ifNoneMatch.split(",").some(tag => tag.trim() === "*" || strong(tag) === strong(etag))
}

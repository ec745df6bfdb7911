import { createHash } from "node:crypto"

/** ISO 32000-1, table 46 wants MD5: it shows a damaged file, not an altered one; the evidence carries its own hashes. */
export function checkSum(bytes: Uint8Array): string {
  return createHash("md5").update(bytes).digest("hex")
}

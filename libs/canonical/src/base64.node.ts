/** Same contract as in base64.portable.ts, about 10 times faster. */
export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")
}

/** Same contract as in base64.portable.ts: Node's lenient decoder, held to the one spelling its encoder writes. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const buffer = Buffer.from(text, "base64")
  if (buffer.toString("base64") !== text) return undefined
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
}

/** Same contract as in utf8-encode.portable.ts, several times faster. */
export function utf8Encode(text: string): Uint8Array {
  const buffer = Buffer.from(text, "utf8")
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
}

interface Encoder {
  encode(text: string): Uint8Array
}
// WHATWG Encoding: in every browser; declared here because the libs compile without DOM types.
declare const TextEncoder: new () => Encoder

const encoder = new TextEncoder()

/**
 * UTF-8 bytes. A lone surrogate, which no strictly parsed text holds, becomes U+FFFD. Browsers take this file; Node takes
 * utf8-encode.node.ts. Both answer the same.
 */
export function utf8Encode(text: string): Uint8Array {
  return encoder.encode(text)
}

// WHATWG HTML: in every browser; declared here because the libs compile without DOM types.
declare const atob: (text: string) => string
declare const btoa: (binary: string) => string

/** Base64 with padding (RFC 4648 §4). Browsers take this file; Node takes base64.node.ts. Both answer the same. */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = ""
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

/** Bytes of padded base64 (RFC 4648 §4); undefined for missing padding, whitespace, non-zero pad bits or other alphabets. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const binary = decodeBinary(text)
  if (binary === undefined || btoa(binary) !== text) return undefined
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}

function decodeBinary(text: string): string | undefined {
  try {
    return atob(text)
  } catch {
    return undefined
  }
}

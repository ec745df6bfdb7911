/** Whether bytes begin as a PDF does. ISO 32000-1 §7.5.2. */
export const isPdf = (bytes: Uint8Array): boolean =>
  [0x25, 0x50, 0x44, 0x46, 0x2d].every((byte, at) => bytes[at] === byte)

/** Backend messages of the PostgreSQL protocol 3.0 (PostgreSQL documentation, "Message Formats"): a type byte, then a length as in frontend-messages.ts. */

const ERROR_RESPONSE = "E".charCodeAt(0)
const LENGTH_BYTES = 4
/** The field of an ErrorResponse with its SQLSTATE, of class 58: an error of the files below the database. */
const FILE_ERROR = /\0C58[0-9A-Z]{3}\0/

/** Whether an answer of the backend, which is whole messages, reports an error of the files below the database. */
export function tellsFileError(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at + LENGTH_BYTES < bytes.length; at += 1 + view.getUint32(at + 1)) {
    if (bytes[at] !== ERROR_RESPONSE) continue
    const fields = bytes.subarray(at + 1 + LENGTH_BYTES, at + 1 + view.getUint32(at + 1))
    if (FILE_ERROR.test(`\0${Buffer.from(fields).toString("latin1")}`)) return true
  }
  return false
}

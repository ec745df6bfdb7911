/** Files of the caller: hashes of them, and reports written to them. */
import { createSha256 } from "@runseal/canonical"
import { FileError, UnsupportedOperationError } from "./client-errors.ts"
import { type NodeFiles, nodeFiles } from "./platform.ts"

/**
 * SHA-256 of a file, 64 lowercase hex digits, for `program_id` and `registry_record_hash`. Read in pieces, so a large file takes little
 * memory.
 * @param file a path, in Node 20.16 and later; a `Blob`, such as a browser's `File`; or bytes
 * @throws FileError for a file that cannot be read; UnsupportedOperationError for a path where there are no files
 */
export async function hashFile(file: string | Blob | Uint8Array): Promise<string> {
  const hash = createSha256()
  const pieces = piecesOf(file)
  try {
    for await (const piece of pieces) hash.update(piece)
  } catch (cause) {
    throw new FileError("The file could not be read.", { cause })
  }
  return hash.hex()
}

/** Writes bytes to a file and replaces one that is there. @throws FileError; UnsupportedOperationError where there are no files */
export async function writeFile(path: string, bytes: Uint8Array): Promise<void> {
  const { promises } = files()
  try {
    await promises.writeFile(path, bytes)
  } catch (cause) {
    throw new FileError("The file could not be written.", { cause })
  }
}

function piecesOf(file: string | Blob | Uint8Array): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (typeof file === "string") return files().createReadStream(file)
  return file instanceof Blob ? piecesOfBlob(file) : [file]
}

async function* piecesOfBlob(blob: Blob): AsyncGenerator<Uint8Array> {
  const reader = blob.stream().getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}

function files(): NodeFiles {
  const found = nodeFiles()
  if (found === undefined)
    throw new UnsupportedOperationError(
      "A file needs Node 20.16 or later: elsewhere pass a Blob or bytes, or write the bytes yourself.",
    )
  return found
}

/** Reads files and responses up to a maximum size. */
import { concatBytes } from "@runseal/canonical"

/** Why something could not be read, in one sentence. */
export type ReadProblem = { readonly problem: string }

/** Timeout of a fetch, milliseconds. */
const DEADLINE_MS = 30_000

export const tooLarge = (maxBytes: number): ReadProblem => ({ problem: `It is larger than ${maxBytes} bytes.` })

/** The bytes of a chosen or dropped file. */
export async function readFile(file: File, maxBytes: number): Promise<Uint8Array | ReadProblem> {
  if (file.size > maxBytes) return tooLarge(maxBytes)
  try {
    return new Uint8Array(await file.arrayBuffer())
  } catch {
    // It is a folder, or the file was moved meanwhile.
    return { problem: "The browser could not read it." }
  }
}

/** The bytes at an address of this service; no cookie is sent and no redirect followed. */
export async function readAddress(address: string, maxBytes: number): Promise<Uint8Array | ReadProblem> {
  try {
    const signal = AbortSignal.timeout(DEADLINE_MS)
    const response = await fetch(address, { credentials: "omit", redirect: "error", signal })
    if (response.status === 404) return { problem: "There is nothing at this address." }
    if (!response.ok || response.body === null)
      return { problem: `The service answered with status ${response.status}.` }
    return (await collect(response.body, maxBytes)) ?? tooLarge(maxBytes)
  } catch {
    return { problem: "The service could not be reached." }
  }
}

/** All bytes of a stream; undefined when there are more than `maxBytes`. */
export async function collect(stream: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunksOf(stream)) {
    size += chunk.length
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return concatBytes(...chunks)
}

/** The chunks of a stream; stopping early cancels it. Not every browser makes streams iterable. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel()
  }
}

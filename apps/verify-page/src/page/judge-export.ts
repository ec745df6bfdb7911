/** An export, verified line by line as it is read, with the same code as on the command line. Memory holds some hundred bytes of each record. */
import { DEFAULT_MAX_BYTES, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { linesOf } from "@runseal/core/presentation/lines"
import { NOT_EXPANDED, savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { type Completeness, foldExport } from "@runseal/core/verify/completeness"
import type { Unreadable } from "@runseal/core/verify/parsed-text"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { EXPORT_KIND } from "@runseal/core/vocabulary/versions"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { chunksOf } from "./read-bounded.ts"

/** Bytes of an export that the page reads, expanded: some 19,000 records, of which a browser verifies a hundred a second. */
export const MAX_EXPORT_BYTES = 268_435_456
/** A statement takes 4 KB. */
const MAX_STATEMENT_BYTES = 65_536
/** Milliseconds of work after which the browser may draw. */
const SLICE_MS = 100

/** First bytes of what is compressed; no document that the page reads begins with them. */
const SIGNATURES = { gzip: [0x1f, 0x8b], zstd: [0x28, 0xb5, 0x2f, 0xfd] } as const

const headOf = async (file: Blob): Promise<Uint8Array> =>
  new Uint8Array(await file.slice(0, MAX_STATEMENT_BYTES).arrayBuffer())

/** How a file is compressed; undefined for plain text. */
async function compressionOf(file: Blob): Promise<keyof typeof SIGNATURES | undefined> {
  const head = await headOf(file)
  return (["gzip", "zstd"] as const).find(name => SIGNATURES[name].every((byte, at) => byte === head[at]))
}

/** Why an export is not read to its end. */
export const tooManyBytes = (name: string): string =>
  `it is larger than ${MAX_EXPORT_BYTES} bytes, which is more than this page reads: run verifier ${name} --complete`

/** Whether a file is an export: by its name, because it is compressed, or because its first line is a statement with more behind it. */
export async function isExport(file: File): Promise<boolean> {
  if (file.name.endsWith(".ndjson") || (await compressionOf(file)) !== undefined) return true
  const head = await headOf(file)
  const end = head.indexOf(0x0a)
  if (end === -1 || end + 1 === file.size) return false
  try {
    const first = parseStrictJson(savedText(head.subarray(0, end)))
    return isObject(first) && first.kind === EXPORT_KIND
  } catch (error) {
    if (error instanceof StrictJsonError) return false
    throw error
  }
}

type Watch = {
  /** Called with the number of lines read so far, at most once in SLICE_MS. */
  readonly progress: (lines: number) => void
  /** Whether a newer verification replaces this one. */
  readonly stopped: () => boolean
}

/** Verifies an export; undefined when it was stopped. No bytes make it throw. @param trusts keys from outside the export */
export async function judgeExport(
  file: File,
  trusts: readonly TrustedKeys[],
  { progress, stopped }: Watch,
): Promise<Completeness | Unreadable | undefined> {
  const fold = foldExport(trusts, Date.now(), { budgets: true })
  let since = performance.now()
  try {
    for await (const { number, bytes } of linesOf(textOf(file), DEFAULT_MAX_BYTES)) {
      fold.take(number, bytes)
      if (performance.now() - since < SLICE_MS) continue
      progress(number)
      await new Promise(resolve => setTimeout(resolve))
      since = performance.now()
      if (stopped()) return undefined
    }
  } catch (error) {
    if (error instanceof NotRead) return { unreadable: error.message }
    throw error
  }
  return fold.end()
}

/** An export that is not read; the message is for the reader. */
class NotRead extends Error {}

/** The bytes of an export, expanded if it is compressed; at most `MAX_EXPORT_BYTES`. @throws NotRead */
async function* textOf(file: File): AsyncGenerator<Uint8Array> {
  const compression = await compressionOf(file)
  if (compression === "zstd")
    throw new NotRead("it is compressed with Zstandard, which this page does not read: unpack it with unzstd")
  if (compression === undefined) {
    const problem = savedProblem(await headOf(file))
    if (problem !== undefined) throw new NotRead(problem)
    return yield* chunksOf(file.stream())
  }
  let size = 0
  try {
    for await (const chunk of chunksOf(file.stream().pipeThrough(new DecompressionStream("gzip")))) {
      size += chunk.length
      if (size > MAX_EXPORT_BYTES) throw new NotRead(tooManyBytes(file.name))
      yield chunk
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new NotRead(`it ${NOT_EXPANDED}: unpack it with gunzip, and choose the result`)
  }
}

/** An export, verified line by line as it is read, with the same code as on the command line. Memory holds some hundred bytes of each record. */
import { DEFAULT_MAX_BYTES, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { linesOf } from "@runseal/core/presentation/lines"
import { type Completeness, foldExport } from "@runseal/core/verify/completeness"
import type { Unreadable } from "@runseal/core/verify/document"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { EXPORT_KIND } from "@runseal/core/vocabulary/versions"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { chunksOf } from "./read-bounded.ts"

/** Bytes of an export that the page reads, some 9,500 records: a browser verifies a few dozen a second. */
export const MAX_EXPORT_BYTES = 268_435_456
/** A statement takes 4 KB. */
const MAX_STATEMENT_BYTES = 65_536
/** Milliseconds of work after which the browser may draw. */
const SLICE_MS = 100

/** Whether a file is an export: by its name, or because its first line is a statement with more behind it. */
export async function isExport(file: File): Promise<boolean> {
  if (file.name.endsWith(".ndjson")) return true
  const head = new Uint8Array(await file.slice(0, MAX_STATEMENT_BYTES).arrayBuffer())
  const end = head.indexOf(0x0a)
  if (end === -1 || end + 1 === file.size) return false
  try {
    const first = parseStrictJson(head.subarray(0, end))
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
  file: Blob,
  trusts: readonly TrustedKeys[],
  { progress, stopped }: Watch,
): Promise<Completeness | Unreadable | undefined> {
  const fold = foldExport(trusts, Date.now())
  let since = performance.now()
  for await (const { number, bytes } of linesOf(chunksOf(file.stream()), DEFAULT_MAX_BYTES)) {
    fold.take(number, bytes)
    if (performance.now() - since < SLICE_MS) continue
    progress(number)
    await new Promise(resolve => setTimeout(resolve))
    since = performance.now()
    if (stopped()) return undefined
  }
  return fold.end()
}

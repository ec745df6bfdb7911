/** Jobs of the inspection thread, and their results. */
import { readStrictJson } from "@runseal/canonical"
import type { ActTable } from "@runseal/core/act/act-table"
import { actReader, readAct } from "@runseal/core/act/read-act"
import type { PayloadFacts } from "@runseal/core/seal/gates/pepg"
import type { ScanText, SignatureMatch } from "@runseal/core/seal/gates/scanned-texts"
import type { ReviewResult } from "../review/reviewer.ts"

/** Neighbouring texts of one location in one string: a hundred thousand strings are slow to send to a thread. */
type PackedTexts = {
  readonly location: string
  readonly joined: string
  /** Where each text ends in `joined`, in code units. */
  readonly ends: Uint32Array
}

export type InspectJob =
  | { readonly kind: "scan"; readonly texts: readonly PackedTexts[]; readonly disabled: readonly string[] }
  | { readonly kind: "review"; readonly text: string }
  | { readonly kind: "payload"; readonly text: string; readonly table: ActTable | undefined }

export type Inspected =
  | { readonly match: SignatureMatch | undefined }
  | { readonly review: ReviewResult }
  | { readonly payload: PayloadFacts }

/** What rules see of a payload. */
export function readPayload(text: string, table: ActTable | undefined): PayloadFacts {
  if (table === undefined) return { payload_is_json: readStrictJson(text) !== undefined }
  const act = readAct(actReader(table), text)
  return { act, payload_is_json: !act.unreadable.some(({ problem }) => problem === "not_json") }
}

export function packTexts(texts: readonly ScanText[]): readonly PackedTexts[] {
  const groups: { location: string; texts: string[] }[] = []
  for (const { location, text } of texts) {
    const group = groups.at(-1)
    if (group?.location === location) group.texts.push(text)
    else groups.push({ location, texts: [text] })
  }
  return groups.map(({ location, texts }) => {
    let end = 0
    const ends = Uint32Array.from(texts, text => {
      end += text.length
      return end
    })
    return { location, joined: texts.join(""), ends }
  })
}

export const unpackTexts = (groups: readonly PackedTexts[]): readonly ScanText[] =>
  groups.flatMap(({ location, joined, ends }) =>
    Array.from(ends, (end, i) => ({ location, text: joined.slice(i === 0 ? 0 : ends[i - 1], end) })),
  )

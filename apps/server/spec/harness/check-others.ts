/** Documents of kinds that no table of lists shows: each verifies as a document of its kind. */
import type { Anchor } from "@runseal/core/artifacts/anchor"
import { kindNamed, readDocument } from "@runseal/core/verify/document"
import { parseDocument } from "@runseal/core/verify/parsed-text"
import type { Auditor } from "./auditor.ts"
import type { Tables } from "./read-tables.ts"

/** Judges them, and gives their anchors. @throws Error for a kind without a row */
export const judgeOthers = ({ judge, checkEntry }: Auditor, { others }: Pick<Tables, "others">): readonly Anchor[] =>
  others.flatMap(({ kind, packed, log_index }) => {
    const verdict = kindNamed(kind)?.verdict
    if (verdict === undefined) throw new Error(`the document at ${log_index} is of no kind`)
    judge(packed, verdict, `${kind} at ${log_index}`)
    const document = readDocument(parseDocument(packed))
    if ("unreadable" in document) throw new Error(document.unreadable)
    const anchors = document.anchors().map(({ anchor }) => anchor)
    anchors.forEach(checkEntry)
    return anchors
  })

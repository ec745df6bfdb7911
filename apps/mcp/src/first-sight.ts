/**
 * What a server says of itself and of its tools is read by a model, as results are: the service searches and reviews it when it is first seen, as the
 * result of the request that it answered, and there is a record of it.
 */
import { canonicalize, type JsonObject, sha256Hex } from "@runseal/canonical"
import { fitsRequest, reviewedText, sealedText } from "./reviewed-text.ts"
import { closePermit, openPermit, refusedBy, type Sealing } from "./sealing.ts"

export type Verdict =
  | { readonly kind: "clean" }
  | { readonly kind: "refused"; readonly reason: string }
  /** The service gave no answer. */
  | { readonly kind: "undecided"; readonly reason: string }

export type Seen = {
  /** The request that it answers: what was done. */
  readonly method: "initialize" | "tools/list"
  readonly program_id: string
  /** `mcp/<server>`. */
  readonly route_id: string
}

/** A verdict for each text, in order. What is refused together is reviewed in halves, until it is known which of them was meant. */
export async function review(sealing: Sealing, seen: Seen, texts: readonly JsonObject[]): Promise<readonly Verdict[]> {
  const text = textOf({ [seen.method]: [...texts] })
  const verdict: Verdict =
    text === undefined ? { kind: "refused", reason: "it is too large to be reviewed" } : await seal(sealing, seen, text)
  if (verdict.kind !== "refused" || texts.length === 1) return texts.map(() => verdict)
  const half = texts.length >> 1
  return [...(await review(sealing, seen, texts.slice(0, half))), ...(await review(sealing, seen, texts.slice(half)))]
}

/** RFC 8785, or what the agent gets where there is none, as for a bound of 2^64 in a schema. Undefined for what is too large. */
function textOf(value: JsonObject): string | undefined {
  try {
    return reviewedText(value)
  } catch {
    const text = JSON.stringify(value)
    return fitsRequest(text) ? text : undefined
  }
}

async function seal(sealing: Sealing, { method, program_id, route_id }: Seen, text: string): Promise<Verdict> {
  const act = { program_id, route_id, registry_record_hash: sha256Hex(text), payload: canonicalize({ method }) }
  const opened = await openPermit(sealing, act, "unpinned")
  if (opened.kind === "refused") return { kind: "refused", reason: refusedBy(sealing, opened.run) }
  if (opened.kind !== "permitted") return { kind: "undecided", reason: opened.reason }
  const { run } = await closePermit(sealing, opened.permitId, { outcome: "completed", ...sealedText(sealing, text) })
  if (run === undefined) return { kind: "undecided", reason: `its review (permit ${opened.permitId}) is not confirmed` }
  return run.outcome_kind === "ok" ? { kind: "clean" } : { kind: "refused", reason: refusedBy(sealing, run) }
}

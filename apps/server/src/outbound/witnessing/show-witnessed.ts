/**
 * Adds the newest checkpoint that witnesses cosigned to a bundle when it is read, with the path of each of its log entries to that root. It
 * comes after the record is sealed, and the stored text of a record is never changed.
 */
import { canonicalize, encodeBase64 } from "@runseal/canonical"
import type { Witnessed } from "@runseal/core/artifacts/bundle-schema"
import { reduce } from "@runseal/core/derivation/derive"
import { slotted } from "@runseal/core/verify/anchor-slots"
import { assembleProof, inclusionPath } from "@runseal/log/merkle/rfc6962"
import type { Database } from "../../store/driver/database.ts"
import { rememberNodes } from "../../store/tables/log-store.ts"
import type { WitnessedCheckpointRow } from "../../store/tables/witnessed-checkpoint.ts"
import { bundleIn } from "../outbox/show-outside.ts"

/**
 * The text of a bundle with the witnessed checkpoint added; unchanged where that tree does not have all log entries of the record yet.
 * @param newest the checkpoint, which the caller reads, so that all that it answers is of one
 */
export type ShowWitnessed = (text: string, newest: WitnessedCheckpointRow | undefined) => Promise<string>

export function showWitnessed(db: Database): ShowWitnessed {
  const nodes = rememberNodes()
  return async (text, newest) => {
    const bundle = bundleIn(text)
    if (bundle === undefined || newest === undefined) return text
    const { size, checkpoint } = newest
    const own = slotted(bundle.anchors).map(({ slot, anchor }) => ({ slot, index: Number(anchor.entry.logIndex) }))
    if (own.length === 0 || own.some(({ index }) => index >= size)) return text
    const plans = own.map(({ slot, index }) => ({ slot, plan: inclusionPath(index, size) }))
    const hashOf = await nodes.read(
      db,
      plans.flatMap(({ plan }) => plan.flat()),
      size,
    )
    const paths = plans.map(({ slot, plan }) => [slot, assembleProof(plan, hashOf).map(encodeBase64)] as const)
    const witnessed: Witnessed = { checkpoint, ...Object.fromEntries(paths) }
    return canonicalize(reduce({ ...bundle, anchors: { ...bundle.anchors, witnessed } }))
  }
}

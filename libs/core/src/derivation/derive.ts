/** The derivations by their names. docs/formats.md section 9. */
import type { Anchor, CompleteRecordLeaf } from "../artifacts/anchor.ts"
import type { Bundle, BundleBody, SealedBody, SealedBundle } from "../artifacts/bundle-schema.ts"
import { type WithholdableName, withhold } from "../artifacts/declared-sections.ts"
import type { Derivation } from "../vocabulary/versions.ts"
import { expandV2 } from "./v2/expand.ts"
import { reduceBodyV2, sealedCompleteRecord } from "./v2/reduce.ts"
import { withheldProblemV2 } from "./v2/withheld-results.ts"

type Rules = {
  readonly withheldProblem: (record: SealedBundle) => string | undefined
  readonly expand: (record: SealedBundle) => Bundle
  readonly reduce: (record: BundleBody) => SealedBody
}

const RULES: Readonly<Record<Derivation, Rules>> = {
  "vfa.derivation.v2": { expand: expandV2, reduce: reduceBodyV2, withheldProblem: withheldProblemV2 },
}

/**
 * The full form of a record. Sections and anchors that the record cannot give are absent from it, which a verifier reports. Of a withheld
 * section it has what `withheld_results` says.
 */
export const expand = (record: SealedBundle): Bundle => RULES[record.run.derivation].expand(record)

/** The sealed form of a record that has no bundle hash yet: what can be derived is left out and named by its hash. */
export const reduceBody = (record: BundleBody): SealedBody => RULES[record.run.derivation].reduce(record)

/** The sealed form of a record. */
export const reduce = ({ bundle_hash, ...body }: Bundle): SealedBundle => ({ ...reduceBody(body), bundle_hash })

/** The sealed form of a record whose last leaf is in the log. */
export const finishSealed = (
  body: SealedBody,
  bundle_hash: string,
  complete_record: Anchor<CompleteRecordLeaf>,
): SealedBundle => ({
  ...body,
  bundle_hash,
  anchors: { ...body.anchors, complete_record: sealedCompleteRecord(complete_record) },
})

/** Why `withheld_results` is not of exactly the sections that the record withholds; undefined when it is. */
export const withheldProblem = (record: SealedBundle): string | undefined =>
  RULES[record.run.derivation].withheldProblem(record)

/** The record with sections withheld: the same record, since no hash of it changes. What was computed from them remains. */
export const withholdSections = (record: Bundle, names: readonly WithholdableName[]): Bundle => ({
  ...record,
  sections: {
    ...record.sections,
    ...Object.fromEntries(
      names.flatMap(name => {
        const section = record.sections[name]
        return section === undefined ? [] : [[name, withhold(section)]]
      }),
    ),
  },
})

/**
 * What the service read of the payload by the act table of the run's route. It can be withheld as the declared sections can; no kernel reads
 * it. docs/formats.md section 2.6.
 */
import * as v from "valibot"
import { ACT_TYPES, actNameSchema, MAX_ACT_NAMES } from "../act/act-table.ts"
import { ACT_PROBLEMS } from "../act/act-value.ts"
import { type Shape, sha256Schema } from "../vocabulary/scalars.ts"

const ACT_KIND = "vfa.act.v1"
const kind = v.literal(ACT_KIND)
/** Entries of `unreadable`: each name once, and objects. */
const MAX_FAULTS = 128

export const shownActSchema = v.strictObject({
  kind,
  /** Keeps withheld values from being guessed from their hash: 64 hex, derived from a seed that is never shown. */
  salt: sha256Schema,
  /** The act table, by its name in the policy. */
  table: actNameSchema,
  /** Sorted by name. */
  values: v.pipe(
    v.array(
      v.strictObject({
        name: v.string(),
        /** Where the value is in the payload: a JSON pointer of the act table. */
        at: v.string(),
        type: v.picklist(ACT_TYPES),
        value: v.union([v.string(), v.pipe(v.number(), v.safeInteger()), v.boolean(), v.array(v.string())]),
      }),
    ),
    v.maxLength(MAX_ACT_NAMES),
  ),
  /** Names and objects that are not as the table says: the policy denies with ACT_UNREADABLE where there is one. */
  unreadable: v.pipe(
    v.array(
      v.union([
        v.strictObject({ name: v.string(), problem: v.picklist(ACT_PROBLEMS) }),
        v.strictObject({ at: v.string(), problem: v.picklist(ACT_PROBLEMS) }),
      ]),
    ),
    v.maxLength(MAX_FAULTS),
  ),
  hash: sha256Schema,
})
const withheldActSchema = v.strictObject({ kind, withheld: v.literal(true), hash: sha256Schema })

export type ShownAct = Shape<typeof shownActSchema>
export type ActSection = ShownAct | Shape<typeof withheldActSchema>
export const actSectionSchema: v.GenericSchema<unknown, ActSection> = v.union([shownActSchema, withheldActSchema])

/** The section's shown form; undefined when it is withheld. */
export const shownAct = (section: ActSection): ShownAct | undefined => ("withheld" in section ? undefined : section)

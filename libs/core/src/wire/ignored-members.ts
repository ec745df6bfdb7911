/** The top-level members of a request that are ignored, as its answer names them. Decision 0146. */
import type { JsonObject } from "@runseal/canonical"
import * as v from "valibot"

/** Most names of ignored members in an answer, and the longest, in UTF-16 units. */
const IGNORED_NAMES_MAX = 16
const IGNORED_NAME_MAX_LENGTH = 64

/** Absent from an answer when every member of the request is known. */
export const ignoredSchema = v.exactOptional(
  v.pipe(
    v.array(v.pipe(v.string(), v.maxLength(IGNORED_NAME_MAX_LENGTH))),
    v.minLength(1),
    v.maxLength(IGNORED_NAMES_MAX),
    v.metadata({
      description: "Names of top-level members of the body that are unknown, and were neither used nor sealed.",
    }),
  ),
)

/**
 * `ignored` of an answer: members of the body that its schema does not have, such as `ai_output` for `ai_output_text`; the first few, and
 * no long ones.
 */
export function ignoredOf(
  body: JsonObject,
  { entries }: { readonly entries: Readonly<Record<string, unknown>> },
): { readonly ignored?: string[] } {
  const ignored = Object.keys(body)
    .filter(name => !Object.hasOwn(entries, name) && name.length <= IGNORED_NAME_MAX_LENGTH)
    .slice(0, IGNORED_NAMES_MAX)
  return ignored.length === 0 ? {} : { ignored }
}

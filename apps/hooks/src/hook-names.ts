/** Names and ids in what agents report. */
import * as v from "valibot"

/** Longest name or id, in UTF-16 units: a route of it is one that runs may have. */
const NAME_MAX_LENGTH = 256
export const hookName = v.pipe(v.string(), v.minLength(1), v.maxLength(NAME_MAX_LENGTH))

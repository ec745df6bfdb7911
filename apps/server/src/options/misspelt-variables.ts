/** Variables of the environment that are probably meant as one of the service's. */
import { nearestWord } from "@runseal/core/presentation/nearest-word"
import { SECRET_VARIABLES } from "./secrets.ts"
import { OPTION_ROWS } from "./table.ts"

/** Every variable that the service reads. */
const READ: readonly string[] = [
  ...OPTION_ROWS.flatMap(({ variable }) => variable ?? []),
  ...SECRET_VARIABLES.flatMap(name => [name, `${name}_FILE`]),
  "RUNSEAL_SOURCE_REVISION",
]
/** Read by the client library and the verifier, which may share the environment. */
const READ_BY_OTHERS: readonly string[] = ["RUNSEAL_URL", "RUNSEAL_API_KEY", "RUNSEAL_TRUST_DIR"]

/** A warning for each variable that is like one that the service reads, by its name alone: a value may be a secret. */
export function misspeltVariables(env: NodeJS.ProcessEnv): readonly string[] {
  const known = new Set([...READ, ...READ_BY_OTHERS])
  return Object.keys(env).flatMap(name => {
    if (known.has(name) || !/^RUNSEAL/i.test(name)) return []
    const nearest = nearestWord(name.toUpperCase(), READ)
    return nearest === undefined ? [] : [`${name} is not read by the service: did you mean ${nearest}?`]
  })
}

/** What is asked of the loaded runs: real bodies, most of them small, spread over programs and routes as a service sees them. */
import type { JsonObject } from "@runseal/canonical"
import { parseStrictJson, sha256Hex } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { readExecuteBody } from "@runseal/server/http/execute-body"
import type { SubmittedRun } from "@runseal/server/pipeline/submission"
import { FULL } from "../bench/bodies.ts"

const PROGRAMS = 40
const ROUTES = 25
/** One run in so many carries every section; the others declare their cost alone. */
const FULL_EVERY = 8
/** One run in so many is refused by policy. */
const DENIED_EVERY = 23

/** The EICAR test string, in two parts so that no scanner stops at this file. */
const EICAR = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}", "$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"].join("")

const programs = Array.from({ length: PROGRAMS }, (_, program) => sha256Hex(`program ${program}`))
export const programOf = (number: number): string => programs[number % PROGRAMS] ?? ""
export const routeOf = (number: number): string => `desk-${(number * 7) % ROUTES}/approve`

const fullBodies: readonly JsonObject[] = FULL.map(({ body = "{}" }) => parseStrictJson(body)).filter(isObject)

/** The `number`th run's body, as a caller sends it. */
function bodyOf(number: number): JsonObject {
  const named = {
    program_id: programOf(number),
    route_id: routeOf(number),
    payload: number % DENIED_EVERY === 0 ? EICAR : `Approve invoice ${number} over ${100 + (number % 900)} EUR.`,
  }
  const full = number % FULL_EVERY === 0 ? fullBodies[(number / FULL_EVERY) % fullBodies.length] : undefined
  if (full !== undefined) return { ...full, ...named }
  const request_substance = { cost: { total_tokens: 1000 + (number % 500) } }
  return { ...named, registry_record_hash: sha256Hex("registry"), request_substance }
}

/** The same, judged as the endpoint judges it. */
export const submittedRun = (number: number): SubmittedRun => readExecuteBody(bodyOf(number))

/** Enters one entry in an outside log, or finds it there. */
import { encodeBase64, utf8Encode } from "@runseal/canonical"
import { entryPlaceProblem } from "@runseal/log/entries/check-entry"
import { isRekorUuid, parseRekorAnswer, REKOR_V1_ENTRIES } from "@runseal/log/entries/rekor-v1"
import type { Answer } from "../ask.ts"
import { askLog, type Entered, refusalOf } from "./ask-log.ts"
import { enterTiled } from "./enter-tiled.ts"
import type { OutsideLog } from "./outside-log.ts"

/** For one entry with API v1, both requests and their whole answers included. */
export const EXCHANGE_DEADLINE_MS = 20_000

/**
 * Enters a body. When the log already has it (409), reads that entry, so that there is never a second one. The returned entry is the one
 * of this body, and its proof verifies; with API v2 its timestamp too. Never rejects.
 * @param body canonical body text
 */
export const enterEntry = (log: OutsideLog, body: string, stop: AbortSignal): Promise<Entered> =>
  log.timestamps === undefined ? enterV1(log, body, stop) : enterTiled(log, log.timestamps, utf8Encode(body), stop)

async function enterV1(log: OutsideLog, body: string, stop: AbortSignal): Promise<Entered> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(EXCHANGE_DEADLINE_MS)])
  const entries = new URL(REKOR_V1_ENTRIES, log.url)
  try {
    const made = await askLog(entries, signal, body)
    if (made.status !== 409) return judge(made, 201, log, body)
    const uuid = made.location?.split("/").at(-1)
    if (uuid === undefined || !isRekorUuid(uuid)) return { fault: "invalid", status: 409 }
    return judge(await askLog(new URL(`${REKOR_V1_ENTRIES}/${uuid}`, log.url), signal), 200, log, body)
  } catch {
    return { fault: "unreachable" }
  }
}

function judge(answer: Answer, expected: number, log: OutsideLog, body: string): Entered {
  const { status, bytes } = answer
  if (status !== expected) return refusalOf(answer)
  const entry = bytes && parseRekorAnswer(bytes)
  if (entry === undefined) return { fault: "invalid", status }
  const problem = entryPlaceProblem(entry, encodeBase64(utf8Encode(body)), log.trust)
  return problem === undefined ? { entry } : { fault: "invalid", status, problem }
}

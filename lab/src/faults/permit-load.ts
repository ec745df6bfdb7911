/** Acts under permits: each is a story of opening, redemption and close, which goes on where a fault cut it. */
import { setTimeout as sleep } from "node:timers/promises"
import { expect } from "vitest"
import type { Child } from "../../../apps/server/spec/harness/child.ts"
import { type Answer, textAt } from "../../../apps/server/spec/harness/read-answer.ts"
import { isBusy } from "./acknowledged-runs.ts"
import { drawn } from "./rounds.ts"

/** Tokens of a window: less than the reservations of a busy while, so that some openings are refused by reservations alone. */
export const PERMIT_WINDOW_TOKENS = 8_000
export const RESERVED = 500
/** Seconds after which an unclosed permit ends. */
export const CLOSE_BY_SECONDS = 240
const TIMES = { valid_for_seconds: 120, close_within_seconds: CLOSE_BY_SECONDS - 120 }
const PAUSE_MS = 20

export type Act = {
  readonly name: string
  /** Tokens that it uses: at most, or more than, what it reserves. */
  readonly used: number
  /** Whether its permit is redeemed, and whether anybody closes it. */
  readonly redeems: boolean
  readonly closes: boolean
  permit_id?: string
  permit?: string
  /** Run as which it was refused. */
  refused?: number
  /** How often a redemption succeeded, and whether one is behind it. */
  redemptions: number
  redeemed: boolean
  /** Run that closed it. */
  run_id?: number
  /** The close was answered: there is nothing to close any more. */
  ended?: true
}

export function newAct(at: number): Act {
  const draw = (what: string): number => drawn(`permit ${what}`, at)
  return {
    name: `act/${at}`,
    used: Math.floor(draw("use") * 1.3 * RESERVED),
    redeems: draw("redeem") < 0.5,
    closes: draw("close") < 0.8,
    redemptions: 0,
    redeemed: false,
  }
}

/** Whether nothing is left to do for an act. */
export const isOver = (act: Act): boolean =>
  act.refused !== undefined ||
  act.run_id !== undefined ||
  act.ended === true ||
  (act.permit_id !== undefined && (act.redeemed || !act.redeems) && !act.closes)

/** The next step of an act. Gives its answer; undefined when the connection was cut. @throws Error for an answer that no step may get */
export async function step(act: Act, child: Child): Promise<Answer | undefined> {
  const [answer, take] = nextStep(act, child)
  const given = await answer.catch(excuseCut)
  if (given === undefined || isBusy(given)) return given
  take(given)
  return given
}

function nextStep(act: Act, child: Child): readonly [Promise<Answer>, (answer: Answer) => void] {
  const { name, permit_id, permit = "" } = act
  if (permit_id === undefined) {
    const body = { program_id: "a".repeat(64), route_id: name, registry_record_hash: "b".repeat(64), payload: name }
    const terms = { audience: "payments", reserve_tokens: RESERVED, ...TIMES }
    const sent = child.post("/permits", { ...body, ...terms }, { "idempotency-key": `"${name}"` })
    return [sent, answer => takeOpening(act, answer)]
  }
  if (act.redeems && !act.redeemed)
    return [child.post(`/permits/${permit_id}/redeem`, { permit }), answer => takeRedemption(act, answer)]
  const closing = { outcome: "completed", request_substance: { cost: { total_tokens: act.used } } }
  const sent = child.post(`/permits/${permit_id}/close`, closing, { "idempotency-key": `"${permit_id}"` })
  return [sent, answer => takeClose(act, answer)]
}

function takeOpening(act: Act, { status, text, body }: Answer): void {
  if (status === 422 && body.error_stage === "MACC" && typeof body.run_id === "number") act.refused = body.run_id
  else if (status === 201) {
    act.permit_id = textAt(body, "permit_id")
    // A repeated answer has none once the permit has expired: nobody redeems it then.
    if (typeof body.permit === "string") act.permit = body.permit
    else act.redeemed = true
  } else throw new Error(`${act.name} was answered with ${status} ${text}`)
}

function takeRedemption(act: Act, { status, text, body }: Answer): void {
  if (status === 200) act.redemptions++
  else if (!["already_redeemed", "permit_not_open", "permit_invalid"].includes(String(body.code)))
    throw new Error(`${act.name} was redeemed with ${status} ${text}`)
  act.redeemed = true
}

function takeClose(act: Act, { status, text, body }: Answer): void {
  if (status === 409 && body.code === "permit_not_open") act.ended = true
  else if (typeof body.run_id === "number" && (status === 200 || body.error_stage === "MACC")) act.run_id = body.run_id
  else throw new Error(`${act.name} was closed with ${status} ${text}`)
}

/** Accepts a cut connection; any other error is a fault of the answer. */
function excuseCut(error: unknown): undefined {
  if (error instanceof Error && /hang up|ECONNRE|EPIPE|was cut/.test(error.message)) return undefined
  throw error
}

export type PermitLoad = { readonly stop: () => Promise<void> }

/** Carries out one act after the other on each connection; each connection ends when it is cut. */
export function startPermitLoad(child: Child, acts: Act[], connections: number): PermitLoad {
  let stopped = false
  const act = async (): Promise<void> => {
    while (!stopped) {
      const mine = newAct(acts.length)
      acts.push(mine)
      while (!stopped && !isOver(mine)) {
        const answer = await step(mine, child)
        if (answer === undefined) return
        if (isBusy(answer)) await sleep(PAUSE_MS)
      }
    }
  }
  const acting = Array.from({ length: connections }, act)
  return {
    stop: async () => {
      stopped = true
      await Promise.all(acting)
    },
  }
}

/** Goes on with every act until it is over, one after the other. Gives how many there were to go on with. */
export async function finishActs(child: Child, acts: readonly Act[]): Promise<number> {
  const left = acts.filter(act => !isOver(act))
  for (const act of left)
    for (let tries = 0; !isOver(act); tries++) {
      expect(tries, `${act.name} comes to its end`).toBeLessThan(200)
      if (isBusy((await step(act, child)) ?? { status: 503, headers: new Headers(), text: "", body: {} }))
        await sleep(PAUSE_MS)
    }
  return left.length
}

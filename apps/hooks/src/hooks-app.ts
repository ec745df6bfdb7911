/** `POST /hooks/{agent}`: hooks of agents as permits. Every agent has one file of its own; what is done is the same for all. */
import type { JsonObject } from "@runseal/canonical"
import type { HookSettings } from "@runseal/core/wire/hook-requests"
import { type Context, Hono } from "hono"
import type { Agent, AgentEvent, ParseHook } from "./agent-events.ts"
import { claudeCode } from "./claude-code.ts"
import { type Calls, cannotAsk, type Decision, isReused, namesNobody, sealedCalls } from "./sealed-calls.ts"
import { type Fetch, NoAnswer, serviceCalls } from "./service-calls.ts"
export type HookParts = {
  /** The service itself. */
  readonly fetch: Fetch
  /**
   * The service, for what became of a call: it asks for no end user, so the token is not sent, which may have expired. Absent: it is asked as
   * before the call.
   */
  readonly reports?: Fetch
  /** The parameters of a request. Throws the service's refusal. */
  readonly settings: (c: Context) => HookSettings
  /** The body of a request, within the service's bounds. Rejects with the service's refusal. */
  readonly read: (c: Context) => Promise<JsonObject>
  readonly parse: ParseHook
  /** Status and sentence of a refusal of the service; undefined for any other error. */
  readonly refusal: (error: unknown) => Refusal | undefined
}

export type Refusal = { readonly status: number; readonly message: string }

/** Milliseconds for the service to decide, by what becomes of a call without a decision, and to seal what became of it: an agent waits 30 s. */
const DECISION_MS = { open: 2_000, closed: 10_000 }
const CLOSE_MS = 20_000
/** Statuses for a call that the service does not take, which its arguments or the token of its end user could bring about. */
const UNFIT: readonly number[] = [400, 413, 431]

/** An agent of any answers. */
export type AgentOf = (parse: ParseHook) => Agent<object>

/** @param agents whose hooks are served */
export function hooksApp(parts: HookParts, agents: readonly AgentOf[] = [claudeCode]): Hono {
  const app = new Hono()
  for (const agentOf of agents) {
    const agent = agentOf(parts.parse)
    app.post(`/hooks/${agent.name}`, hookHandler(agent, parts))
  }
  return app
}

/** Answers the hooks of one agent. */
export const hookHandler =
  <Answer extends object>(agent: Agent<Answer>, parts: HookParts) =>
  async (c: Context): Promise<Response> => {
    const settings = parts.settings(c)
    const event = await eventOf(agent, parts, c, settings)
    if (event instanceof Unreadable) return c.json(agent.denied(cannotDecide(event.message)))
    if (event.kind === "other") return c.json(agent.nothing)
    const isBefore = event.kind === "before"
    const deadlineMs = isBefore ? DECISION_MS[goesOn(settings) ? "open" : "closed"] : CLOSE_MS
    const reports = isBefore ? undefined : parts.reports
    const service = serviceCalls(reports ?? parts.fetch, c, deadlineMs, reports === undefined)
    const calls = sealedCalls(agent.name, service, settings)
    return answer(c, agent, event, settings, await decisionOf(calls, event))
  }

/** Whether a call is made without a decision. */
const goesOn = ({ mode, fail }: HookSettings): boolean => mode === "observe" || fail === "open"

const cannotDecide = (why: string): string => `Runseal could not decide, so the call is denied. ${why}`

/** A body of which nobody knows what it reports, perhaps a call that is about to be done. */
class Unreadable extends Error {
  override readonly name = "Unreadable"
}

/**
 * An agent that goes on after a refusal would make the call that its body hides, so that call is denied in the agent's own words. An agent
 * ignores them where nothing is about to be done.
 */
async function eventOf<Answer extends object>(
  agent: Agent<Answer>,
  { read, refusal }: HookParts,
  c: Context,
  settings: HookSettings,
): Promise<AgentEvent | Unreadable> {
  let body: JsonObject | undefined
  try {
    body = await read(c)
    return agent.read(body)
  } catch (error) {
    const refused = refusal(error)
    const isUnfit = refused !== undefined && UNFIT.includes(refused.status)
    const mayBeCall = body === undefined || agent.isBefore(body)
    if (isUnfit && mayBeCall && settings.fail === "open" && settings.mode !== "observe")
      return new Unreadable(refused.message)
    throw error
  }
}

async function decisionOf(calls: Calls, event: Exclude<AgentEvent, { kind: "other" }>): Promise<Decision | NoAnswer> {
  try {
    return await (event.kind === "before" ? calls.decide(event.call) : calls.settle(event.call, event.ending))
  } catch (error) {
    if (error instanceof NoAnswer) return error
    throw error
  }
}

function answer<Answer extends object>(
  c: Context,
  agent: Agent<Answer>,
  event: Exclude<AgentEvent, { kind: "other" }>,
  settings: HookSettings,
  decision: Decision | NoAnswer,
): Response {
  if (decision instanceof NoAnswer || decision.kind === "unsealed") {
    const why = decision instanceof NoAnswer ? decision.message : String(decision.reply.body.error)
    const isMade = goesOn(settings) && (settings.mode === "observe" || !isUnfit(decision))
    if (event.kind === "before" && !isMade) return c.json(agent.denied(cannotDecide(why)))
    return decision instanceof NoAnswer ? unavailable(c, why) : decision.reply.response
  }
  switch (decision.kind) {
    case "permitted":
      if (!decision.is_valid && settings.mode !== "observe")
        return c.json(agent.denied(cannotDecide(`Its permit ${decision.permit_id} is over.`)))
      return c.json(agent.permitted(`Permitted by Runseal: ${decision.permit_id}.`, settings))
    case "refused":
      return c.json(
        event.kind === "before" ? agent.denied(decision.reason) : agent.withheld(decision.reason, event.ending),
      )
    case "denied":
      return c.json(event.kind === "before" ? agent.denied(decision.reason) : agent.nothing)
    default:
      return c.json(agent.nothing)
  }
}

/** The service is there, and does not take this call. */
const isUnfit = (decision: Decision | NoAnswer): boolean =>
  !(decision instanceof NoAnswer) &&
  decision.kind === "unsealed" &&
  (UNFIT.includes(decision.reply.status) || isReused(decision) || namesNobody(decision) || cannotAsk(decision))

const unavailable = (c: Context, error: string): Response =>
  c.json({ ok: false, error, code: "unavailable", request_id: c.get("requestId") }, 503, { "Retry-After": "1" })

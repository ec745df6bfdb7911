/** `POST /hooks/{agent}`: hooks of agents as permits. Every agent has one file of its own; what is done is the same for all. */
import type { JsonObject } from "@runseal/canonical"
import type { HookSettings } from "@runseal/core/wire/hook-requests"
import { type Context, Hono } from "hono"
import type { GenericSchema, InferOutput } from "valibot"
import type { Agent, AgentEvent } from "./agent-events.ts"
import { claudeCode } from "./claude-code.ts"
import { type Calls, type Decision, sealedCalls } from "./sealed-calls.ts"
import { type Fetch, NoAnswer, serviceCalls } from "./service-calls.ts"

/** Validates a body. Throws the service's refusal of one that does not fit. */
export type ParseHook = <Schema extends GenericSchema>(schema: Schema, body: JsonObject) => InferOutput<Schema>

export type HookParts = {
  /** The service itself. */
  readonly fetch: Fetch
  /** The body and the parameters of a request, within the service's bounds. Rejects with the service's refusal. */
  readonly read: (c: Context) => Promise<{ readonly body: JsonObject; readonly settings: HookSettings }>
  readonly parse: ParseHook
}

/** Milliseconds for the service to answer: an agent waits 30 s for the decision, and as long after the call. */
const DEADLINE_MS = 20_000

export function hooksApp(parts: HookParts): Hono {
  const app = new Hono()
  serve(app, claudeCode(parts.parse), parts)
  return app
}

function serve<Answer extends object>(app: Hono, agent: Agent<Answer>, { fetch, read }: HookParts): void {
  app.post(`/hooks/${agent.name}`, async c => {
    const { body, settings } = await read(c)
    const event = agent.read(body)
    if (event.kind === "other") return c.json(agent.nothing)
    const calls = sealedCalls(agent.name, serviceCalls(fetch, c, DEADLINE_MS), settings)
    return answer(c, agent, event, settings, await decisionOf(calls, event))
  })
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
    const isStopped = event.kind === "before" && settings.mode !== "observe" && settings.fail !== "open"
    if (isStopped) return c.json(agent.denied(`Runseal could not decide, so the call is denied. ${why}`))
    return decision instanceof NoAnswer ? unavailable(c, why) : decision.reply.response
  }
  switch (decision.kind) {
    case "permitted":
      return c.json(agent.permitted(`Permitted by Runseal: ${decision.permit_id}.`, settings))
    case "refused":
      return c.json(
        event.kind === "before" ? agent.denied(decision.reason) : agent.withheld(decision.reason, event.ending),
      )
    default:
      return c.json(agent.nothing)
  }
}

const unavailable = (c: Context, error: string): Response =>
  c.json({ ok: false, error, code: "unavailable", request_id: c.get("requestId") }, 503, { "Retry-After": "1" })

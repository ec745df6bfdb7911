/** Load from a bounded number of clients, each with one pending request, which record every answer. */
import { setTimeout as sleep } from "node:timers/promises"
import type { JsonObject } from "@runseal/canonical"
import { expectDescribed } from "../../../apps/server/spec/harness/described.ts"
import { caller, type Holder } from "../../../apps/server/spec/harness/key-holders.ts"
import { sendKeyed } from "../../../apps/server/spec/harness/keyed.ts"
import type { Answer } from "../../../apps/server/spec/harness/read-answer.ts"
import { fullRequest, request, spending } from "../../../apps/server/spec/harness/sample-requests.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { isBusy, isRecord, type Memory, type Sent } from "./acknowledged-runs.ts"

/** Token budget of a window; the load spends more, so that budgets are used up while it runs. */
export const WINDOW_TOKENS = 3000
/** Token budget of a run. */
export const RUN_TOKENS = 1000
/** Pauses of a client, of which the second is after a refusal or a cut connection. */
const PAUSES_MS = { record: 0, refusal: 25 }

/** Sends requests to a server's real socket; every answer is checked against the OpenAPI document. */
export const httpCaller = (url: string): Parameters<typeof caller>[0] => ({
  request: async (path, init = {}) => {
    const response = await fetch(url + path, init)
    const { status, headers } = response
    expectDescribed({ method: init.method ?? "GET", path, status, headers, text: await response.clone().text() })
    return response
  },
})

export const holdersAt = (url: string, secrets: readonly string[]): readonly Holder[] =>
  secrets.map(secret => caller(httpCaller(url), secret))

const DIGEST = "5".repeat(64)
type Kind = { readonly path: Sent["path"]; readonly body: (name: string) => JsonObject }
const execute = (body: (name: string) => JsonObject): Kind => ({ path: "/execute", body })
/** Sections of all kinds, charges, runs beyond the budget of a run, attestations. */
const KINDS: readonly Kind[] = [
  execute(route_id => request({ route_id })),
  execute(route_id => spending(7, { route_id })),
  execute(route_id => fullRequest({ route_id })),
  execute(route_id => spending(RUN_TOKENS + 1, { route_id })),
  execute(route_id => spending(53, { route_id })),
  { path: "/attest", body: subject_ref => ({ digest: DIGEST, algorithm: "sha256", subject_ref }) },
]

/** How many requests in a row are of every kind. */
export const REQUEST_KINDS: number = KINDS.length

/** The callers of a deployment, by their secrets, and their records. */
export type Clients = { readonly memory: Memory; readonly secrets: readonly string[] }

/** The next request of a deployment's clients, of all kinds in turn or for one endpoint. */
export function nextRequest({ memory, secrets }: Clients, path?: Sent["path"]): Sent {
  const n = memory.sent.length
  const kind = KINDS.find(one => one.path === path) ?? KINDS[n % KINDS.length]!
  const name = `fault/${n}`
  const sent: Sent = {
    name,
    caller: Math.floor(n / KINDS.length) % secrets.length,
    path: kind.path,
    body: kind.body(name),
  }
  memory.sent.push(sent)
  return sent
}

/**
 * Sends a request under an idempotency key of its own and records the answer. Gives the answer, or undefined when the
 * connection was cut.
 */
export async function send(sent: Sent, url: string, { memory, secrets }: Clients): Promise<Answer | undefined> {
  const key = `"${sent.name}"`
  const answer = await sendKeyed(httpCaller(url), sent.path, key, sent.body, secrets[sent.caller]).catch(excuseCut)
  if (answer === undefined) return undefined
  if (isRecord(answer)) sent.acknowledged = answer
  else if (!isBusy(answer)) memory.unexpected.push(`${sent.name}: ${answer.status} ${answer.text}`)
  return answer
}

/** Accepts a cut connection; any other error is a fault of the answer. */
function excuseCut(error: unknown): undefined {
  if (error instanceof TypeError) return undefined
  throw error
}

export type Load = {
  /** Records acknowledged by this load. */
  readonly acknowledged: () => number
  /** Requests that were refused or cut off; a pending one is neither. */
  readonly unacknowledged: () => number
  /** Longest time until a refusal, in milliseconds; 0 when there was none. */
  readonly slowestRefusalMs: () => number
  /** Sends no further request and resolves when the pending ones have ended. */
  readonly stop: () => Promise<void>
}

export type LoadOptions = Clients & {
  readonly connections: number
  /** Whether clients go on after their connection was cut; otherwise each ends. */
  readonly persistent: boolean
  /** Pause of a client after a record and after a refusal, in milliseconds; absent: `PAUSES_MS`. */
  readonly pausesMs?: { readonly record: number; readonly refusal: number }
}

/** Sends one request after the other on each connection, spread over the servers. */
export function startLoad(
  urls: readonly string[],
  { connections, persistent, pausesMs = PAUSES_MS, ...clients }: LoadOptions,
): Load {
  const mine: Sent[] = []
  let stopped = false
  let slowestRefusal = 0
  const keepAsking = async (client: number): Promise<void> => {
    const url = urls[client % urls.length]!
    while (!stopped) {
      const sent = nextRequest(clients)
      const since = performance.now()
      const answer = await send(sent, url, clients)
      mine.push(sent)
      if (answer === undefined && !persistent) return
      if (sent.acknowledged === undefined) {
        slowestRefusal = Math.max(slowestRefusal, performance.now() - since)
        await sleep(pausesMs.refusal)
      } else if (pausesMs.record > 0) await sleep(pausesMs.record)
    }
  }
  const asking = Array.from({ length: connections }, (_, i) => keepAsking(i))
  const acknowledged = (): number => mine.filter(sent => sent.acknowledged !== undefined).length
  return {
    acknowledged,
    unacknowledged: () => mine.length - acknowledged(),
    slowestRefusalMs: () => slowestRefusal,
    stop: async () => {
      stopped = true
      await Promise.all(asking)
    },
  }
}

/** Retries all unacknowledged requests, one after the other; each gets one record. Gives their number. */
export async function retryUnacknowledged(url: string, clients: Clients): Promise<number> {
  const open = clients.memory.sent.filter(({ acknowledged }) => acknowledged === undefined)
  for (const sent of open) {
    let last: Answer | undefined
    await until(`${sent.name} is answered when it is sent again`, async () => {
      last = await send(sent, url, clients)
      return sent.acknowledged !== undefined
    }).catch((error: unknown) => {
      throw new Error(`${error}; the last answer was ${last?.status} ${last?.text}`)
    })
  }
  return open.length
}

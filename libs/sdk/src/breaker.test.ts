/** Decisions of a door while the service is away: how long they take, and how often it is asked. */
import { expect, test } from "vitest"
import { type ClientOptions, createClient, type Fail, type PermitRequest } from "./index.ts"

const REQUEST: PermitRequest = {
  program_id: "3f".repeat(32),
  route_id: "payments/transfer",
  registry_record_hash: "a9".repeat(32),
  payload: "{}",
  audience: "payments",
  reserve_tokens: 0,
}

type Behaviour =
  | "silent"
  | "refuses"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: object }

/** A service that behaves so, and a clock that only moves while somebody waits. */
function away(first: Behaviour, options: ClientOptions = {}) {
  let behaviour = first
  let nowMs = 0
  let asked = 0
  const client = createClient({
    baseUrl: "http://127.0.0.1:1",
    now: () => nowMs,
    retries: 0,
    sleep: (ms, signal) =>
      new Promise(resolve =>
        setImmediate(() => {
          if (!signal.aborted) nowMs += ms
          resolve()
        }),
      ),
    fetch: async (_, { signal }) => {
      asked++
      if (behaviour === "refuses") throw new TypeError("refused")
      if (behaviour !== "silent") return Response.json(behaviour.body ?? { ok: false, error: "Busy." }, behaviour)
      return await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)))
    },
    ...options,
  })
  return {
    become: (next: Behaviour) => {
      behaviour = next
    },
    pass: (ms: number) => {
      nowMs += ms
    },
    /** What a decision came to, how long its caller waited, and how often the service was asked meanwhile. */
    ask: async (fail: Fail) => {
      const [since, before] = [nowMs, asked]
      const error = await client.permits.open(REQUEST, { fail, idempotencyKey: "k" }).then(
        () => "none",
        thrown => thrown.name,
      )
      return { error, waited: nowMs - since, asked: asked - before }
    },
  }
}

const decide = async ({ ask }: ReturnType<typeof away>, fail: Fail, times: number) => {
  const found = []
  for (let at = 0; at < times; at++) found.push(await ask(fail))
  return found
}

test("open: three callers wait 2 s each for a silent service; then nobody waits, and it is asked once in 5 s", async () => {
  const service = away("silent")
  const waited = { error: "TimeoutError", waited: 2_000, asked: 1 }
  const passed = { error: "ServiceAwayError", waited: 0, asked: 0 }
  expect(await decide(service, "open", 6)).toEqual([waited, waited, waited, passed, passed, passed])
  service.pass(4_999)
  expect(await service.ask("open")).toEqual(passed)
  service.pass(1)
  expect(await decide(service, "open", 2)).toEqual([waited, passed])
})

test("closed: it is always asked; while it is away a caller waits 1 s, and 10 s once in 5 s", async () => {
  const service = away("silent")
  const whole = { error: "TimeoutError", waited: 10_000, asked: 1 }
  const short = { error: "TimeoutError", waited: 1_000, asked: 1 }
  expect(await decide(service, "closed", 8)).toEqual([whole, whole, whole, short, short, short, short, short])
  expect(await decide(service, "closed", 2)).toEqual([whole, short])
})

test("a wait that is set is the wait of both", async () => {
  const waits = async (fail: Fail) => (await away("silent", { decisionMs: 300 }).ask(fail)).waited
  expect(await Promise.all([waits("open"), waits("closed")])).toEqual([300, 300])
})

test("Retry-After is not slept: the caller gets the answer at once, and under open nobody asks before that time", async () => {
  const busy = { status: 429, headers: { "Retry-After": "20" } }
  const service = away(busy, { retries: 3 })
  expect(await service.ask("open")).toEqual({ error: "RateLimitedError", waited: 0, asked: 1 })
  expect(await service.ask("open")).toEqual({ error: "ServiceAwayError", waited: 0, asked: 0 })
  expect(await service.ask("closed")).toEqual({ error: "RateLimitedError", waited: 0, asked: 1 })
  service.pass(19_999)
  expect(await service.ask("open")).toMatchObject({ error: "ServiceAwayError" })
  service.pass(1)
  expect(await service.ask("open")).toMatchObject({ error: "RateLimitedError", asked: 1 })
})

test("an answer of any kind says that it is there, whatever it answers", async () => {
  const service = away("refuses")
  await decide(service, "open", 2)
  service.become({ status: 401 })
  await service.ask("open")
  service.become("refuses")
  expect((await decide(service, "open", 4)).map(({ error }) => error)).toEqual([
    ...["NetworkError", "NetworkError", "NetworkError"],
    "ServiceAwayError",
  ])
})

test.each([
  [503, "end_user_unavailable", "an identity provider that is away"],
  [429, "too_many_approvals", "a key whose acts wait for people"],
])("a %i with %s is no outage of the service, whatever time it asks for: it is of %s", async (status, code, _of) => {
  const answer = { status, headers: { "Retry-After": "5" }, body: { ok: false, error: "Not now.", code } }
  const found = await decide(away(answer), "open", 5)
  expect(found.map(({ asked }) => asked)).toEqual([1, 1, 1, 1, 1])
})

test("a 500 is the answer to one request, and no outage", async () => {
  const service = away({ status: 500 })
  expect((await decide(service, "open", 5)).map(({ asked }) => asked)).toEqual([1, 1, 1, 1, 1])
})

test("what one client finds out, every client of the process knows that sends to the same address", async () => {
  let asked = 0
  const fetch: ClientOptions["fetch"] = async () => {
    asked++
    throw new TypeError("refused")
  }
  const open = (baseUrl: string) =>
    createClient({ baseUrl, fetch, retries: 0 })
      .permits.open(REQUEST, { fail: "open" })
      .then(
        () => "none",
        thrown => thrown.name,
      )
  for (let at = 0; at < 3; at++) expect(await open("http://127.0.0.1:1")).toBe("NetworkError")
  expect(await open("http://127.0.0.1:1/")).toBe("ServiceAwayError")
  expect(await open("http://127.0.0.1:2")).toBe("NetworkError")
  expect(asked).toBe(4)
})

/** The calls that follow from the table of endpoints, each held against its row. */
import type { Endpoint } from "@runseal/api/endpoint"
import { ENDPOINTS } from "@runseal/api/endpoints"
import * as v from "valibot"
import { expect, test } from "vitest"
import { quickWaits } from "../test/quick-waits.ts"
import { nameOf } from "./endpoint-calls.ts"
import { createClient, UnavailableError } from "./index.ts"

/** A client, and what it sends to a service that is down. */
function watched() {
  const asked: { readonly url: string; readonly init: RequestInit }[] = []
  const fetch = (url: string, init: RequestInit): Response => {
    asked.push({ url, init })
    return new Response("", { status: 503 })
  }
  const client = createClient({ baseUrl: "http://service.test", apiKey: "rsk_key", fetch, ...quickWaits() })
  const methodOf = ({ id }: Endpoint): unknown => Reflect.get(client, nameOf(id))
  return { asked, methodOf }
}

/** Endpoints whose calls are not inferred: outcomes, permits, lists, documents that are read in their own way; and those of other clients. */
const OTHERS =
  /^(?:execute|verify_determinism|dcae_verify|open_permit|permits?|close_permit|redeem_permit|collect_permit|runs|search_runs|attest|attestations|(?:public|shared)_bundle|trust|version|hook_claude_code|export_traces|(?:open|show|close)_session|(?:start|finish)_sign_in)$/
const ofOneRun = ({ path }: Endpoint): boolean =>
  /^\/runs\/\{id\}\/./.test(path) || /^\/admin\/(?:runs|permits)\/\{id\}(?:$|\/(?!publish|unpublish|share))/.test(path)
const INFERRED = ENDPOINTS.filter(row => {
  const { content } = row.answers[201] ?? row.answers[200] ?? {}
  return content?.schema !== undefined && !OTHERS.test(row.id) && !ofOneRun(row)
})

/** What a row requires in its query; undefined for nothing. Every such parameter is a number. */
function requiredQuery({ query }: Endpoint): Record<string, number> | undefined {
  const required = Object.entries(query?.entries ?? {}).filter(
    ([, entry]) => !v.is(v.object({ type: v.literal("exact_optional") }), entry),
  )
  return required.length === 0 ? undefined : Object.fromEntries(required.map(([name], index) => [name, index + 1]))
}

test("these endpoints are calls that nobody wrote", () => {
  expect(INFERRED.filter(row => typeof watched().methodOf(row) !== "function").map(({ id }) => id)).toEqual([])
  // Fewer would be calls that somebody wrote.
  expect(INFERRED.length).toBeGreaterThan(50)
})

test.each(INFERRED.map(row => [row.id, row] as const))(
  "%s sends what its row says, as often as it may",
  async (_, row) => {
    const { asked, methodOf } = watched()
    const place = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => row.path_parameters?.[name]?.example)
    const body = row.body?.example ?? Object.values(row.body?.examples ?? {})[0]?.value
    const method = methodOf(row)
    if (typeof method !== "function") throw new Error("it is no call")
    const query = requiredQuery(row)
    await expect(method(...place, ...(body === undefined ? [query] : [body]))).rejects.toBeInstanceOf(UnavailableError)
    const path = row.path.replace(/\{(\w+)\}/g, (_whole, name: string) => `${row.path_parameters?.[name]?.example}`)
    const [first] = asked
    expect(new URL(first?.url ?? "").pathname).toBe(path)
    expect(first?.init.method).toBe(row.method.toUpperCase())
    expect(first?.init.body === undefined ? undefined : JSON.parse(`${first.init.body}`)).toEqual(body)
    expect(new Headers(first?.init.headers).has("x-service-key")).toBe(row.access !== "public")
    expect(asked).toHaveLength(row.method === "get" || row.repeatable === true ? 4 : 1)
  },
)

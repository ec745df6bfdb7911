/** What administrators and auditors read. What the answers hold is tested against the service itself, in apps/server/spec. */
import type { ServerResponse } from "node:http"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { API_KEY, type Service, startService } from "../test/scripted-service.ts"
import { type Client, createClient, InvalidArgumentError, ProtocolError } from "./index.ts"

let service: Service
let client: Client
beforeAll(async () => {
  service = await startService()
  client = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY })
})
afterAll(() => service.stop())
beforeEach(() => {
  service.asked.splice(0)
  service.faults.splice(0)
})

const answers = (text: string): number => service.faults.push((response: ServerResponse) => void response.end(text))
const paths = (): readonly string[] => service.asked.map(({ method, path }) => `${method} ${path}`)
const ID = `pmt-${"0".repeat(32)}`

test("filters and places are sent encoded, and those that are undefined are not", async () => {
  for (const list of ["runs", "permits", "published", "events"])
    answers(`{"ok":true,"limit":50,"${list}":[],"later":1}`)
  expect(await client.allRuns({ key: 2, route_id: "a/b", from: new Date(0), before: 7 })).toEqual({
    ok: true,
    limit: 50,
    runs: [],
  })
  await client.allPermits({ state: "open", limit: 5, before: `1.${ID}` })
  await client.published({ key: undefined })
  await client.adminEvents({ action: "key.create", subject_id: "a b" })
  expect(paths()).toEqual([
    "GET /admin/runs?key=2&route_id=a%2Fb&from=1970-01-01T00%3A00%3A00.000Z&before=7",
    `GET /admin/permits?state=open&limit=5&before=1.${ID}`,
    "GET /admin/published",
    "GET /admin/audit?action=key.create&subject_id=a%20b",
  ])
})

test("what is no id or token is refused, and nothing is sent", async () => {
  const { ofAnyKey } = client
  const calls = [ofAnyKey.run(0), ofAnyKey.bundle(1.5), ofAnyKey.report(-1), ofAnyKey.permit("1"), client.adminEvent(0)]
  for (const call of calls) await expect(call).rejects.toThrow(InvalidArgumentError)
  await expect(client.exportRunsOf(-1).next()).rejects.toThrow(InvalidArgumentError)
  for (const id of [0, -1, 1.5, Number.NaN])
    for (const call of [client.revokeKey, client.publish, client.unpublish])
      await expect(call(id)).rejects.toThrow(InvalidArgumentError)
  for (const token of ["", "A".repeat(32), "../../health", `${"a".repeat(32)}/`])
    for (const call of [client.publicBundle, client.publicStatement])
      await expect(call(token)).rejects.toThrow(InvalidArgumentError)
  expect(paths()).toEqual([])
})

test("events are read line by line, also those of a type of a later release", async () => {
  const later = { type: "key.worn_out", id: "evt_1", position: 8, data: { key_id: 1 } }
  answers(`${JSON.stringify(later)}\n`)
  expect(await client.events({ after: 7 })).toEqual([later])
  answers("")
  expect(await client.events()).toEqual([])
  expect(paths()).toEqual(["GET /admin/events?after=7", "GET /admin/events"])
})

test.each(["{}\n", "[]\n", '{"type":1}\n', '{"type":"run.sealed"', "not JSON\n"])(
  "an answer that is no list of events is a ProtocolError: %j",
  async text => {
    answers(text)
    await expect(client.events()).rejects.toThrow(ProtocolError)
  },
)

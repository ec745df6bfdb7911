/** Address and key of a client, from its options and from the process environment. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest"
import { API_KEY, type Service, startService } from "../test/scripted-service.ts"
import { createClient, InvalidArgumentError } from "./index.ts"

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())
beforeEach(() => void service.asked.splice(0))
afterEach(() => void vi.unstubAllEnvs())

const keySent = async (client: ReturnType<typeof createClient>): Promise<unknown> => {
  await client.run(1).catch(() => undefined)
  return service.asked[0]?.headers["x-service-key"]
}

test("without options the environment gives address and key", async () => {
  vi.stubEnv("RUNSEAL_URL", `${service.baseUrl}/`)
  vi.stubEnv("RUNSEAL_API_KEY", API_KEY)
  expect(await createClient().run(1)).toMatchObject({ id: 1 })
})

test("options come before the environment", async () => {
  vi.stubEnv("RUNSEAL_URL", "http://127.0.0.1:9")
  vi.stubEnv("RUNSEAL_API_KEY", "another")
  expect(await keySent(createClient({ baseUrl: service.baseUrl, apiKey: API_KEY }))).toBe(API_KEY)
})

test("the key of the environment goes to its address, and to no other", async () => {
  vi.stubEnv("RUNSEAL_API_KEY", API_KEY)
  expect(await keySent(createClient({ baseUrl: service.baseUrl }))).toBe(API_KEY)
  service.asked.splice(0)
  vi.stubEnv("RUNSEAL_URL", service.baseUrl)
  expect(await keySent(createClient({ baseUrl: `${service.baseUrl}/` }))).toBe(API_KEY)
  service.asked.splice(0)
  vi.stubEnv("RUNSEAL_URL", "https://runs.example.com")
  expect(await keySent(createClient({ baseUrl: service.baseUrl }))).toBeUndefined()
})

test("an empty variable counts as none", () => {
  vi.stubEnv("RUNSEAL_URL", "")
  expect(() => createClient()).toThrow(new InvalidArgumentError("baseUrl is missing: pass it, or set RUNSEAL_URL."))
})

test("a variable that is wrong is named, and not quoted", () => {
  vi.stubEnv("RUNSEAL_URL", "runs.example.com")
  expect(() => createClient()).toThrow(
    new InvalidArgumentError("RUNSEAL_URL must be a complete http or https address."),
  )
  vi.stubEnv("RUNSEAL_URL", service.baseUrl)
  vi.stubEnv("RUNSEAL_API_KEY", "two words")
  expect(() => createClient()).toThrow(
    new InvalidArgumentError("RUNSEAL_API_KEY must be 1 to 512 visible ASCII characters."),
  )
})

test("where there is no process, as in a browser, there is no environment", () => {
  vi.stubEnv("RUNSEAL_URL", service.baseUrl)
  vi.stubGlobal("process", undefined)
  try {
    expect(() => createClient()).toThrow("baseUrl is missing")
    expect(() => createClient({ baseUrl: service.baseUrl })).not.toThrow()
  } finally {
    vi.unstubAllGlobals()
  }
})

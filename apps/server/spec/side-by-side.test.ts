/** docs/scale.md, "Whole deployments side by side": what one of several deployments does with their keys, and how its console leads to the others. */
import { beforeAll, expect, test } from "vitest"
import { createApp } from "../src/app.ts"
import { ADMIN, CUSTOMER, caller, type Holder, mint, type RequestTarget } from "./harness/key-holders.ts"
import { expectRefused, textAt } from "./harness/read-answer.ts"
import { standingService } from "./harness/test-service.ts"

const PEERS = [
  { name: "US 1", origin: "https://us1.example" },
  { name: "hier", origin: "http://127.0.0.1:8081" },
]
const service = standingService(() => ({ config: { keyPrefix: "eu1", peers: PEERS } }))
let before: Holder
let admin: Holder

/** The same deployment, started with other options. */
const startedWith = (keyPrefix: string | undefined, peers = PEERS): RequestTarget => {
  const app = createApp({ ...service().deps, keyPrefix, peers })
  return { request: async (path: string, init?: RequestInit) => app.request(path, init) }
}

beforeAll(async () => {
  before = await mint(startedWith(undefined), ADMIN)
  admin = await mint(service(), ADMIN, caller(service(), before.secret))
})

/** The cookie of the administrator's session. */
async function cookieAt({ request }: RequestTarget): Promise<string> {
  const session = await request("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key: admin.secret }),
  })
  return (session.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
}

test("secrets of new and rotated keys begin with the prefix, and 24 random bytes follow", async () => {
  const made = await mint(service(), CUSTOMER, admin)
  const rotated = await admin.post(`/admin/keys/${made.id}/rotate`, {})
  const secrets = [admin.secret, made.secret, textAt(rotated.body, "secret")]
  for (const secret of secrets) expect(secret).toMatch(/^rsk_eu1_[0-9a-f]{48}$/)
  expect(new Set(secrets).size).toBe(3)
})

test("a key works whatever prefix its secret has, and whatever prefix the service has", async () => {
  expect(before.secret).toMatch(/^rsk_[0-9a-f]{48}$/)
  const longest = await mint(startedWith("a".repeat(16)), ADMIN, admin)
  for (const at of [service(), startedWith(undefined), startedWith("us1")])
    for (const { secret } of [before, admin, longest])
      expect((await caller(at, secret).get("/admin/keys")).status, secret).toBe(200)
})

test("the prefix is part of the secret: another one in its place is refused", async () => {
  const bytes = (admin.secret ?? "").slice("rsk_eu1_".length)
  for (const secret of [`rsk_us1_${bytes}`, `rsk_${bytes}`, `rsk_eu1${bytes}`, `rsk__${bytes}`, `rsk_EU1_${bytes}`])
    expectRefused(await caller(service(), secret).get("/admin/keys"), 401, "key_required")
})

test("every page of the console leads to the consoles of the others, for those who signed in", async () => {
  const cookie = await cookieAt(service())
  const pageOf = async (path: string): Promise<string> =>
    (await service().request(path, { headers: { Cookie: cookie } })).text()
  for (const path of ["/console", "/console/log", "/console/runs?nothing=x", "/console/no-such-page"]) {
    const page = await pageOf(path)
    expect(page, path).toContain("Other deployments")
    for (const { name, origin } of PEERS) expect(page, path).toContain(`<a href="${origin}/console">${name}</a>`)
  }
  const signIn = await (await service().request("/console/sign-in")).text()
  expect(signIn).not.toMatch(/Other deployments|us1\.example/)
})

test("a console without others has no such list", async () => {
  const alone = startedWith("eu1", [])
  const page = await alone.request("/console/no-such-page", { headers: { Cookie: await cookieAt(alone) } })
  const text = await page.text()
  expect(text).toContain("There is no such page")
  expect(text).not.toContain("Other deployments")
})

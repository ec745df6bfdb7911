/** Values that mean more to a program than to a reader: names of prototypes, numbers beyond all bounds, characters that act. */
import { parseStrictJson } from "@runseal/canonical"
import { verifyDocument } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { afterEach, beforeAll, describe, expect, test } from "vitest"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { expectRefused, listAt, numberAt, objectAt, textAt } from "../harness/read-answer.ts"
import { minted } from "../harness/read-tables.ts"
import { PROGRAM_ID, REGISTRY_RECORD_HASH, request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const service = standingService()
let admin: Holder
let customer: Holder
let other: Holder
beforeAll(async () => {
  admin = await mint(service(), ADMIN)
  customer = await mint(service(), CUSTOMER, admin)
  other = await mint(service(), { name: "other" }, admin)
})

/** Sends a body as it is written: an object literal of ours would lose what is tried here. */
const send = (path: string, text: string, headers: Readonly<Record<string, string>> = {}, holder = customer) =>
  service().postRaw(path, text, {
    "Content-Type": "application/json",
    "X-Service-Key": holder.secret ?? "",
    ...headers,
  })

describe("names of prototypes are names", () => {
  const POLLUTING =
    '{"__proto__":{"polluted":1,"isAdmin":true},"constructor":{"prototype":{"polluted":1}},"prototype":1,"toString":1,"valueOf":{},"then":1,"toJSON":3,"length":-1,"hasOwnProperty":5}'
  const base = `"program_id":"${PROGRAM_ID}","route_id":"r","registry_record_hash":"${REGISTRY_RECORD_HASH}","payload":"x"`
  afterEach(() => {
    expect(Object.keys(Object.prototype)).toEqual([])
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false)
  })

  test.each([
    "request_substance",
    "authorization_chain",
    "regulatory_scaffolding",
    "causal_graph",
    "reproducibility_context",
  ])("in %s they are sealed as declared, verified, reported and listed", async section => {
    const run = await send("/execute", `{${base},"${section}":${POLLUTING}}`)
    expect(run.status, run.text).toBe(200)
    const id = numberAt(run.body, "run_id")
    const { text, status } = await customer.get(`/runs/${id}/artifacts`)
    expect(status).toBe(200)
    expect(text).toContain('"__proto__":{"isAdmin":true,"polluted":1}')
    const report = verifyDocument(objectAt(parseStrictJson(text)), [service().deps.trust])
    expect(report).toMatchObject({ verdict: VERDICTS.complete })
    expect((await customer.get(`/runs/${id}/report.pdf`)).status).toBe(200)
  })

  test.each([
    ["/execute", `{${base},"attested_context":${POLLUTING}}`],
    ["/execute", `{"__proto__":{${base}}}`],
    ["/execute", `{"constructor":{${base}},"prototype":{${base}}}`],
    ["/attest", `{"__proto__":{"digest":"${PROGRAM_ID}","algorithm":"sha256","subject_ref":"x"}}`],
    ["/dcae/verify", POLLUTING],
  ])("%s takes nothing from a prototype: %s", async (path, text) => {
    const before = await minted(service().db)
    expectRefused(await send(path, text), 400)
    expect(await minted(service().db)).toEqual(before)
  })

  test("a key has the scope that was asked for under its own name", async () => {
    const { body } = await send(
      "/admin/keys",
      '{"name":"p","__proto__":{"scope":"admin","tier":"production"}}',
      {},
      admin,
    )
    expect(textAt(body, "name")).toBe("customer:p")
    expect(textAt(body, "tier")).toBe("trial")
    expectRefused(await send("/admin/keys", '{"__proto__":{"name":"p"}}', {}, admin), 400)
  })
})

test("tens of thousands of items are judged like one, and the next caller is served", async () => {
  const many = `[${Array(65_000).fill("{}").join()}]`
  const text = JSON.stringify(request()).replace(/}$/, `,"causal_graph":{"effect_log":${many}}}`)
  const run = await send("/execute", text)
  expect(run.status).toBe(200)
  expect((await other.get("/runs")).status).toBe(200)
  expectRefused(await send("/execute", text.replace("{}", "1")), 400)
  expectRefused(await send("/execute", `{"a":${"[".repeat(100)}${"]".repeat(100)}}`), 400)
})

describe("characters that act", () => {
  const ACTING = 'a\u001b[2J\u001b]0;x\u0007\r\n{"level":60,"msg":"forged"}\u2028\u202e<script>alert(1)</script>'

  test("are in no line of the process log, whatever field they stand in", async () => {
    for (const body of [
      request({ route_id: ACTING }),
      request({ payload: ACTING, ai_output_text: ACTING, causal_graph: { [ACTING]: ACTING } }),
      request({ program_id: ACTING }),
      { [ACTING]: ACTING },
    ])
      await customer.execute(body)
    await customer.get(`/${encodeURIComponent(ACTING)}`)
    await service().request("/execute", {
      method: "POST",
      headers: { "X-Service-Key": customer.secret ?? "" },
      body: ACTING,
    })
    const lines = service().logLines.join("")
    expect(lines).not.toMatch(/forged|alert\(1\)/)
    for (const line of service().logLines) expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  })

  test("come back as data that no browser runs: JSON, not to be sniffed, framed or run", async () => {
    const run = numberAt((await customer.execute(request({ route_id: ACTING }))).body, "run_id")
    const list = await customer.get("/runs?limit=1")
    expect(textAt(listAt(list.body, "runs")[0], "route_id")).toBe(ACTING)
    for (const { headers } of [list, await customer.get(`/runs/${run}/artifacts`), await customer.get(`/${ACTING}`)])
      expect(Object.fromEntries(headers)).toMatchObject({
        "content-type": expect.stringMatching(/^application\/json/),
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "content-security-policy": expect.stringContaining("default-src 'none'"),
        "cache-control": "no-store",
      })
  })

  test("every answer that is no JSON says what it is, is not sniffed, and nobody frames it", async () => {
    const { body } = await customer.execute(request())
    const paths = [
      "/docs",
      "/docs/swagger-ui.css",
      "/verify",
      "/log/checkpoint",
      "/log/tile/0/000.p/1",
      "/.well-known/service.pub",
    ]
    for (const path of [...paths, `/runs/${numberAt(body, "run_id")}/report.pdf?format=brief`, "/runs/export"]) {
      const { headers, status } = await customer.get(path)
      expect(status, path).toBe(200)
      expect(headers.get("content-type"), path).toMatch(/^\w+\/[\w.+-]+/)
      expect(headers.get("x-content-type-options"), path).toBe("nosniff")
      expect(headers.get("content-security-policy"), path).toContain("frame-ancestors 'none'")
      expect(headers.get("content-security-policy"), path).not.toMatch(/unsafe-inline|unsafe-eval|script-src[^;]*\*/)
    }
  })
})

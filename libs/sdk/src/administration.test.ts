import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { API_KEY, type Service, startService } from "../test/scripted-service.ts"
import {
  BadRequestError,
  type Client,
  createClient,
  InvalidArgumentError,
  NotFoundError,
  VERDICTS,
  verifyBundle,
} from "./index.ts"

let service: Service
let client: Client
beforeAll(async () => {
  service = await startService()
  client = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY })
})
afterAll(() => service.stop())
beforeEach(() => void service.asked.splice(0))

const digest = "5e".repeat(32)

test("attest sends digest, algorithm and subject, and gives the document to the letter", async () => {
  const { document, text } = await client.attest({ digest, subject_ref: "build 12" })
  expect(service.asked[0]).toMatchObject({
    method: "POST",
    path: "/attest",
    body: `{"algorithm":"sha256","digest":"${digest}","subject_ref":"build 12"}`,
  })
  expect(document.leaf).toMatchObject({ digest, subject_ref: "build 12", attestation_id: document.attestation_id })
  expect(JSON.parse(text)).toEqual(document)
  expect(verifyBundle(text, [service.deployment.trustDocument])).toMatchObject({ verdict: VERDICTS.attestation })
})

test("what the service refuses to attest is an error with its sentence", async () => {
  await expect(client.attest({ digest: "5e" })).rejects.toMatchObject({
    name: "BadRequestError",
    message: new BadRequestError(400, "digest: is required.").message,
  })
  await expect(client.attest({ digest, subject_ref: "\ud800" })).rejects.toThrow(InvalidArgumentError)
})

test("attestations are read page by page, newest first, and each verifies as it is listed", async () => {
  for (const subject_ref of ["a", "b", "c"]) await client.attest({ digest, subject_ref })
  service.asked.splice(0)
  const found: (string | undefined)[] = []
  for await (const attestation of client.attestations({ limit: 2 }).items()) {
    found.push(attestation.subject_ref)
    const report = verifyBundle(JSON.stringify(attestation), [service.deployment.trustDocument])
    expect(report).toMatchObject({ verdict: VERDICTS.attestation })
    if (found.length === 3) break
  }
  expect(found).toEqual(["c", "b", "a"])
  expect(service.asked.map(({ path }) => path)).toEqual([
    "/attestations?limit=2&offset=0",
    "/attestations?limit=2&offset=2",
  ])
})

test("createKey gives the secret once; listKeys never does", async () => {
  const minted = await client.createKey({ name: "erp" })
  expect(minted).toMatchObject({ ok: true, id: 1, name: "customer:erp", tier: "trial" })
  const admin = await client.createKey({ name: "root", scope: "admin", confirm_admin_scope: true })
  expect(admin).toMatchObject({ id: 2, name: "root", tier: "production" })
  expect(service.asked[1]).toMatchObject({
    method: "POST",
    path: "/admin/keys",
    body: '{"confirm_admin_scope":true,"name":"root","scope":"admin"}',
  })
  const { keys } = await client.listKeys()
  expect(keys.map(({ name, scope, revoked }) => ({ name, scope, revoked }))).toEqual([
    { name: "customer:erp", scope: "customer", revoked: false },
    { name: "root", scope: "admin", revoked: false },
  ])
  expect(JSON.stringify(keys)).not.toContain(minted.secret)
})

test("revokeKey ends a key", async () => {
  const { id } = await client.createKey({ name: "gone" })
  expect(await client.revokeKey(id)).toEqual({ ok: true, id, revoked: true })
  expect(service.asked[1]).toMatchObject({ method: "DELETE", path: `/admin/keys/${id}`, body: "" })
  expect(service.asked[1]?.headers).not.toHaveProperty("content-type")
  await expect(client.revokeKey(999)).rejects.toThrow(NotFoundError)
})

test("publish gives the token of an address that publicBundle reads without the key, until unpublish", async () => {
  const { token, url } = await client.publish(1)
  expect(url).toContain(token)
  const { text } = await client.publicBundle(token)
  expect(verifyBundle(text, [service.deployment.trustDocument])).toMatchObject({ verdict: VERDICTS.complete })
  expect(service.asked[1]?.headers).not.toHaveProperty("x-service-key")
  const statement = await client.publicStatement(token)
  expect(verifyBundle(statement.text, [service.deployment.trustDocument])).toMatchObject({
    verdict: VERDICTS.run_statement,
  })
  expect(service.asked[2]?.headers).not.toHaveProperty("x-service-key")
  expect(await client.unpublish(1)).toEqual({ ok: true, run_id: 1, published: false })
  await expect(client.publicBundle(token)).rejects.toThrow(NotFoundError)
  expect(service.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "POST /admin/runs/1/publish",
    `GET /public/runs/${token}/bundle.json`,
    `GET /public/runs/${token}/statement.intoto.json`,
    "POST /admin/runs/1/unpublish",
    `GET /public/runs/${token}/bundle.json`,
  ])
})

test("what is no id or token is refused and nothing is sent", async () => {
  for (const id of [0, -1, 1.5, Number.NaN])
    for (const call of [client.revokeKey, client.publish, client.unpublish])
      await expect(call(id)).rejects.toThrow(InvalidArgumentError)
  for (const token of ["", "A".repeat(32), "../../health", `${"a".repeat(32)}/`])
    for (const call of [client.publicBundle, client.publicStatement])
      await expect(call(token)).rejects.toThrow(InvalidArgumentError)
  expect(() => client.attestations({ limit: 0 })).toThrow(InvalidArgumentError)
  expect(service.asked).toEqual([])
})

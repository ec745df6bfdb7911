/** The SDK's keys, publications and attestations against the real service, its fetch calls the application directly. */
import {
  type Client,
  createClient,
  isUnreadable,
  NotFoundError,
  UnauthorizedError,
  VERDICTS,
  verifyBundle,
} from "@runseal/sdk"
import { beforeAll, expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import { PROGRAM_ID, REGISTRY_RECORD_HASH, ROUTE_ID } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"
import { verifyWithCli } from "./harness/verifier.ts"

const DIGEST = "5e".repeat(32)
const RUN = {
  program_id: PROGRAM_ID,
  route_id: ROUTE_ID,
  registry_record_hash: REGISTRY_RECORD_HASH,
  payload: "Approve invoice 4711 over 100 EUR.",
}

eachDatabase("the SDK", open => {
  const service = standingService(() => ({ open }))
  const baseUrl = "http://runseal.test"
  const clientOf = (apiKey?: string): Client =>
    createClient({ baseUrl, apiKey, fetch: (url, init) => service().request(url.slice(baseUrl.length), init) })
  let admin: Client
  let customer: Client

  beforeAll(async () => {
    const first = await clientOf().createKey({ name: "ops", scope: "admin", confirm_admin_scope: true })
    expect(first).toMatchObject({ ok: true, id: 1, name: "ops", tier: "production" })
    admin = clientOf(first.secret)
    const second = await admin.createKey({ name: "acme" })
    expect(second).toMatchObject({ id: 2, name: "customer:acme", tier: "trial" })
    customer = clientOf(second.secret)
  })

  test("listKeys shows every key with its runs and never a secret", async () => {
    await customer.execute(RUN)
    const { keys } = await admin.listKeys()
    expect(keys.map(({ id, name, scope, run_count, revoked }) => ({ id, name, scope, run_count, revoked }))).toEqual([
      { id: 1, name: "ops", scope: "admin", run_count: 0, revoked: false },
      { id: 2, name: "customer:acme", scope: "customer", run_count: 1, revoked: false },
    ])
    expect(JSON.stringify(keys)).not.toMatch(/rsk_/)
  })

  test("a revoked key's next call is an UnauthorizedError; revoking again changes nothing", async () => {
    const { id, secret } = await admin.createKey({ name: "gone", tier: "production" })
    const gone = clientOf(secret)
    await gone.attest({ digest: DIGEST })
    expect(await admin.revokeKey(id)).toEqual({ ok: true, id, revoked: true })
    await expect(gone.attest({ digest: DIGEST })).rejects.toBeInstanceOf(UnauthorizedError)
    expect(await admin.revokeKey(id)).toEqual({ ok: true, id, revoked: true })
    await expect(admin.revokeKey(999)).rejects.toBeInstanceOf(NotFoundError)
  })

  test("share, shares, revokeShare: a link works without a key until it is revoked", async () => {
    const run = await admin.execute(RUN)
    const { url, share_id } = await admin.share(run.run_id, { expires_in_seconds: 60 })
    const bundle = new URL(`${url}/bundle.json`).pathname
    expect((await service().request(bundle)).status).toBe(200)
    expect((await admin.shares({ run: run.run_id })).shares).toMatchObject([{ share_id, run_id: run.run_id }])
    expect(await admin.revokeShare(share_id)).toEqual({ ok: true, share_id, revoked: true })
    expect((await service().request(bundle)).status).toBe(404)
  })

  test("publish, publicBundle, publicStatement, unpublish: both are read without a key and verify offline", async () => {
    const run = await admin.execute(RUN)
    const { token, url } = await admin.publish(run.run_id)
    expect(url).toBe(`http://localhost/public/runs/${token}/bundle.json`)
    expect(await admin.publish(run.run_id)).toMatchObject({ token })
    const { text } = await clientOf().publicBundle(token)
    expect(text).toBe((await admin.bundle(run.run_id)).text)
    const report = verifyBundle(text, [(await admin.trust()).document])
    expect(isUnreadable(report) ? report.unreadable : report.verdict).toBe(VERDICTS.complete)
    const statement = await clientOf().publicStatement(token)
    expect(statement).toEqual(await admin.statement(run.run_id))
    expect(verifyBundle(statement.text, [(await admin.trust()).document])).toMatchObject({
      verdict: VERDICTS.run_statement,
    })
    expect(await admin.unpublish(run.run_id)).toEqual({ ok: true, run_id: run.run_id, published: false })
    await expect(clientOf().publicBundle(token)).rejects.toBeInstanceOf(NotFoundError)
    await expect(clientOf().publicStatement(token)).rejects.toBeInstanceOf(NotFoundError)
  })

  test("attest gives what verifies offline, with the command-line verifier too", async () => {
    const { document, text } = await customer.attest({ digest: DIGEST, subject_ref: "build 12" })
    expect(document.leaf).toMatchObject({ digest: DIGEST, algorithm: "sha256", subject_ref: "build 12" })
    const trust = await customer.trust()
    const report = verifyBundle(text, [trust.document])
    expect(isUnreadable(report) ? report.unreadable : report.verdict).toBe(VERDICTS.attestation)
    expect(await verifyWithCli(text, trust.text)).toMatchObject({ exit: 0, verdict: VERDICTS.attestation })
  })

  test("attestations are the calling key's alone, newest first, over pages, each verifying by itself", async () => {
    for (const subject_ref of ["a", "b", "c"]) await customer.attest({ digest: DIGEST, subject_ref })
    await admin.attest({ digest: DIGEST, subject_ref: "of the admin" })
    const { document } = await customer.trust()
    const subjects: (string | undefined)[] = []
    for await (const attestation of customer.attestations({ limit: 2 }).items()) {
      const report = verifyBundle(JSON.stringify(attestation), [document])
      expect(isUnreadable(report) ? report.unreadable : report.verdict).toBe(VERDICTS.attestation)
      subjects.push(attestation.subject_ref)
    }
    expect(subjects.slice(0, 3)).toEqual(["c", "b", "a"])
    expect(subjects).not.toContain("of the admin")
    const pages: number[] = []
    for await (const page of admin.attestations().pages()) pages.push(page.total)
    expect(pages).toEqual([1])
  })

  test("attestations do not use up a trial key's runs", async () => {
    const admitted = () => service().db.sql`select admission_id from trial_admission order by 1`
    const before = await admitted()
    await customer.attest({ digest: DIGEST })
    expect(await admitted()).toEqual(before)
    await customer.execute(RUN)
    expect(await admitted()).toHaveLength(before.length + 1)
  })
})

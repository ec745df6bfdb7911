/** The self-check of a run: docs/api.md, "GET /runs/{id}/verify". */
import type { JsonObject } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import { referenceDigest, referenceText } from "./harness/auditor.ts"
import { keysOf, objectAt, textAt } from "./harness/read-answer.ts"
import { CASES, type CaseName, standingSevenStates } from "./harness/seven-states.ts"
import { readStoredBundle, writeStoredBundle } from "./harness/stored-bundle.ts"

eachDatabase("GET /runs/{id}/verify", open => {
  const { service, answers, runId } = standingSevenStates(open)
  const verify = async (name: CaseName): Promise<JsonObject> => {
    const { status, body } = await service().get(`/runs/${runId(name)}/verify`)
    expect(status).toBe(200)
    return body
  }
  const sealedHash = (name: CaseName): string => {
    const { manifest, partial_manifest, attestation_gap_receipt } = answers()[name].body
    const found = manifest ?? partial_manifest
    return found === undefined ? textAt(attestation_gap_receipt, "hash") : textAt(found, "ManifestHash")
  }

  test.each(CASES.filter(name => name !== "stage_error"))("%s verifies, with every specified field", async name => {
    const body = await verify(name)
    expect(body).toEqual({
      ok: true,
      verified: true,
      manifest_hash: sealedHash(name),
      recomputed_hash: sealedHash(name),
      verification_at: expect.stringMatching(/^2026-05-04T\d\d:\d\d:\d\d\.\d{3}Z$/),
      verification_kind: name === "attestation_gap" ? "receipt-self-seal" : "manifest-self-seal",
      formula_version: "manifest.v1",
      dcae_engine_hint: { available_at: "/dcae/verify", engine_version: expect.stringMatching(/^runseal-verify-/) },
    })
  })

  test("a stage error has nothing to verify: verified false, a reason, and none of the other fields", async () => {
    const body = await verify("stage_error")
    expect(keysOf(body)).toEqual(["manifest_hash", "ok", "reason", "verified"])
    expect(body).toMatchObject({ ok: true, verified: false, manifest_hash: "" })
    expect(body.reason).toMatch(/stage_error.*no manifest to verify/)
  })

  /** Changes the stored bundle of a run for the time of a test, as an operator with the database could. */
  const tampered = async (name: CaseName, change: (bundle: string) => string, look: () => Promise<void>) => {
    const { db } = service()
    const bundle = await readStoredBundle(db, runId(name))
    const changed = change(bundle)
    expect(changed).not.toBe(bundle)
    await writeStoredBundle(db, runId(name), changed)
    try {
      await look()
    } finally {
      await writeStoredBundle(db, runId(name), bundle)
    }
  }

  describe("a stored field that was changed", () => {
    const cases = [
      ["ok", "manifest", "ExecutionRegion"],
      ["ccv_halt", "partial_manifest", "CcvOutcome"],
      ["deny_by_rule", "partial_manifest", "PolicyHash"],
      ["attestation_gap", "attestation_gap_receipt", "policy_name"],
    ] as const

    test.each(cases)("of %s: verified false, and what the fields re-derive to (%s.%s)", async (name, part, field) => {
      const change = (text: string): string => {
        const bundle: Record<string, JsonObject> = JSON.parse(text)
        return referenceText({ ...bundle, [part]: { ...bundle[part], [field]: "changed" } })
      }
      await tampered(name, change, async () => {
        const seal = part === "attestation_gap_receipt" ? "hash" : "ManifestHash"
        const { [seal]: _sealed, ...rest } = objectAt(answers()[name].body, part)
        const body = await verify(name)
        expect(body).toMatchObject({ ok: true, verified: false, manifest_hash: sealedHash(name) })
        expect(body.recomputed_hash).toBe(referenceDigest({ ...rest, [field]: "changed" }))
      })
    })

    test("a field taken away re-derives to another hash", async () => {
      const change = (text: string): string => text.replace(/"IndependentVerified":true,/, "")
      await tampered("ok", change, async () => {
        const body = await verify("ok")
        expect(body.verified).toBe(false)
        expect(body.recomputed_hash).toMatch(/^[0-9a-f]{64}$/)
      })
    })

    test("the recorded seal itself: verified false, the fields re-derive to the true one", async () => {
      const { sql } = service().db
      const forged = "0".repeat(64)
      await sql`update run set manifest_hash = ${forged} where run_id = ${runId("ok")}`
      const body = await verify("ok")
      await sql`update run set manifest_hash = ${sealedHash("ok")} where run_id = ${runId("ok")}`
      expect(body).toMatchObject({ verified: false, manifest_hash: forged, recomputed_hash: sealedHash("ok") })
    })

    test("a manifest that is gone: verified false, nothing re-derives", async () => {
      await tampered(
        "ok",
        text => text.replace('"manifest":', '"removed":'),
        async () => {
          expect(await verify("ok")).toMatchObject({ ok: true, verified: false, recomputed_hash: "" })
        },
      )
    })

    test("a document that is not even JSON: verified false, nothing re-derives", async () => {
      await tampered(
        "ok",
        text => text.slice(0, -1),
        async () => {
          expect(await verify("ok")).toMatchObject({ ok: true, verified: false, recomputed_hash: "" })
        },
      )
    })
  })
})

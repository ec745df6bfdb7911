/** A stranger who has the published keys and the log's entries, and judges documents with the public verifier. */
import { createHash, createPublicKey, verify } from "node:crypto"
import type { JsonObject } from "@runseal/canonical"
import { parseStrictJson } from "@runseal/canonical"
import type { Anchor } from "@runseal/core/artifacts/anchor"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import type { Verdict } from "@runseal/core/verify/report"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import canonicalizeReference from "canonicalize"
import { expect } from "vitest"
import type { LogEntryRow } from "../../src/store/tables/log-store.ts"
import type { Answer } from "./read-answer.ts"
import type { TestService } from "./test-service.ts"

/** RFC 8785 and SHA-256 by others than us. */
export const referenceText = (value: unknown): string => canonicalizeReference(value) ?? ""
export const referenceDigest = (value: unknown): string =>
  createHash("sha256").update(referenceText(value)).digest("hex")

export type Auditor = {
  /** A stored text, which must be canonical and get the verdict. */
  readonly judge: (text: string, verdict: Verdict, name: string) => JsonObject
  /** The anchor's entry is the log's, its digest the leaf's, and the service signed the leaf. */
  readonly checkEntry: (anchor: Anchor) => void
}

type Entries = ReadonlyMap<number, LogEntryRow>

/** The keys that a service publishes. */
export async function trustOf(service: { readonly get: (path: string) => Promise<Answer> }): Promise<TrustedKeys> {
  const trust = parseTrust((await service.get("/.well-known/runseal-trust.json")).body)
  if ("problem" in trust) throw new Error(trust.problem)
  return trust
}

/** An auditor who trusts what the service publishes, and knows these entries of the log. */
export async function auditorOf(service: TestService, entries: readonly LogEntryRow[]): Promise<Auditor> {
  const trust = await trustOf(service)
  const servicePem = (await service.get("/.well-known/service.pub")).text
  const known = new Map(entries.map(entry => [entry.log_index, entry]))
  return {
    judge: (text, expected, name) => {
      const report = verifyText(text, [trust])
      const verdict = isUnreadable(report) ? report.unreadable : report.verdict
      const failed = isUnreadable(report) ? [] : report.checks.filter(({ result }) => result === "fail")
      expect({ verdict, failed }, name).toEqual({ verdict: expected, failed: [] })
      const value = parseStrictJson(text)
      if (!isObject(value)) throw new Error(`${name} is no object`)
      expect(referenceText(value), `${name} is stored in its canonical form`).toBe(text)
      return value
    },
    checkEntry: anchor => checkEntry(anchor, known, servicePem),
  }
}

function checkEntry({ leaf, entry }: Anchor, entries: Entries, servicePem: string): void {
  const row = entries.get(Number(entry.logIndex))
  expect(Buffer.from(entry.canonicalizedBody, "base64").toString("utf8")).toBe(row?.body)
  expect(Number(entry.integratedTime)).toBe(row?.integrated_time)
  const body: unknown = JSON.parse(row?.body ?? "")
  const text = referenceText(leaf)
  expect(body).toMatchObject({
    kind: "hashedrekord",
    spec: { data: { hash: { algorithm: "sha256", value: createHash("sha256").update(text).digest("hex") } } },
  })
  const { spec } = body as { spec: { signature: { content: string } } }
  const signature = Buffer.from(spec.signature.content, "base64")
  expect(verify("sha256", Buffer.from(text), createPublicKey(servicePem), signature)).toBe(true)
}

/** Nothing is in the log that no document shows: entry 0 is the log's birth, every other is one anchor of one document. */
export function checkEveryEntryExplained(
  anchors: readonly Pick<Anchor, "entry">[],
  entries: readonly LogEntryRow[],
): void {
  const shown = anchors.map(({ entry }) => Number(entry.logIndex))
  const logged = entries.map(entry => entry.log_index).filter(index => index > 0)
  expect(shown.sort((a, b) => a - b)).toEqual(logged)
}

/** Permits with their openings, offline: openings that core's fixtures seal, and permits that the same service key signs. */

import { type ApprovalDecision, shownApprovals } from "@runseal/core/artifacts/approvals"
import { describe, expect, test } from "vitest"
import { collectPermit, requestApproval } from "../../core/test/fixtures/asked-approvals.ts"
import { makeDeployment } from "../../core/test/fixtures/deployment.ts"
import { testPasskey, withPasskeys } from "../../core/test/fixtures/passkeys.ts"
import { openPermit } from "../../core/test/fixtures/permits.ts"
import { PAYLOAD } from "../../core/test/fixtures/samples.ts"
import { ASKED } from "../../core/test/fixtures/vectors/asked-transfer.ts"
import { approvalsHeader, type ExpectedPermit, openingClaims, type PermitClaims, verifyPermit } from "../src/index.ts"
import { signPermit } from "../src/sign-permit.ts"

const deployment = makeDeployment({ seed: "permits" })
const { trustDocument, serviceKey, log } = deployment
const { opening } = openPermit(deployment, { redeem_required: true })
const { admission_clock, program_id, route_id } = opening.sections.envelope
const claims = openingClaims(opening, log.origin)
const sign = (change: Partial<PermitClaims> = {}, kid = serviceKey.keyId): Promise<string> =>
  signPermit({ ...claims, ...change }, serviceKey.privateKey, kid)

const EXPECTED = {
  payload: PAYLOAD,
  audience: opening.audience,
  route_id,
  program_id,
  issuer: log.origin,
  trust: JSON.stringify(trustDocument),
  redeems: true,
  now: new Date(admission_clock),
} satisfies ExpectedPermit
const json = JSON.stringify(opening)

test("a permit and its opening agree, as text and as value", async () => {
  expect(await verifyPermit(await sign(), EXPECTED)).toMatchObject({ ok: true })
  expect(await verifyPermit(await sign(), { ...EXPECTED, opening: json })).toEqual({ ok: true, claims })
  expect(await verifyPermit(await sign(), { ...EXPECTED, opening: JSON.parse(json) })).toMatchObject({ ok: true })
})

test("the permit of an observed opening says so, and counts only for one who accepts it", async () => {
  const observed = openPermit(deployment, { enforcement: "observe" }).opening
  const permit = await signPermit(openingClaims(observed, log.origin), serviceKey.privateKey, serviceKey.keyId)
  const expected = {
    ...EXPECTED,
    opening: JSON.stringify(observed),
    now: new Date(observed.sections.envelope.admission_clock),
  }
  expect(await verifyPermit(permit, expected)).toMatchObject({ reason: "observed" })
  expect(await verifyPermit(permit, { ...expected, accepts_observed: true })).toMatchObject({ ok: true })
  const { enforcement: _, ...unmarked } = openingClaims(observed, log.origin).runseal
  const claimed = { ...openingClaims(observed, log.origin), runseal: unmarked }
  const bare = await signPermit(claimed, serviceKey.privateKey, serviceKey.keyId)
  expect(await verifyPermit(bare, expected)).toMatchObject({ reason: "opening_differs" })
})

describe("an opening that does not verify", () => {
  test.each<[string, string]>([
    ["nothing", ""],
    ["no document", "{}"],
    ["no JSON", "{"],
    ["another document", JSON.stringify(trustDocument)],
    ["another end", json.replace(opening.close_by, "2026-01-15T13:00:00.000Z")],
    ["another place in the log", json.replace(/"logIndex":"\d+"/, '"logIndex":"99"')],
    ["of another service", JSON.stringify(openPermit(makeDeployment({ seed: "another" })).opening)],
  ])("%s", async (_, opening) => {
    expect(await verifyPermit(await sign(), { ...EXPECTED, opening })).toMatchObject({ reason: "opening_invalid" })
  })
})

describe("an opening that says something else", () => {
  test("that of another permit", async () => {
    const other = JSON.stringify(openPermit(deployment).opening)
    expect(await verifyPermit(await sign(), { ...EXPECTED, opening: other })).toMatchObject({
      reason: "opening_differs",
    })
  })

  test.each<[string, Partial<PermitClaims>]>([
    ["a later expiry", { exp: claims.exp + 1 }],
    ["another tenant", { sub: "api-key-99" }],
    ["other tokens", { runseal: { ...claims.runseal, reserve_tokens: 1 } }],
    ["another allow token", { runseal: { ...claims.runseal, allow_token_hash: "0".repeat(64) } }],
    ["another log index", { runseal: { ...claims.runseal, opening: { ...claims.runseal.opening, log_index: "99" } } }],
  ])("%s in the permit", async (_, change) => {
    expect(await verifyPermit(await sign(change), { ...EXPECTED, opening: json })).toMatchObject({
      reason: "opening_differs",
    })
  })
})

describe("the service keys of a trust document", () => {
  const withKey = (change: object): string =>
    JSON.stringify({ ...trustDocument, service_keys: trustDocument.service_keys.map(key => ({ ...key, ...change })) })
  const verdict = async (change: object) => await verifyPermit(await sign(), { ...EXPECTED, trust: withKey(change) })

  test("a key that is not listed", async () => {
    expect(await verifyPermit(await sign({}, "0".repeat(64)), EXPECTED)).toMatchObject({ reason: "unknown_key" })
  })
  test("a key that was replaced counts for a day more, and one of later times not yet", async () => {
    expect(await verdict({ valid_to: "2026-01-02T00:00:00Z" })).toMatchObject({ reason: "unknown_key" })
    expect(await verdict({ valid_to: "2026-01-15T11:00:00Z" })).toMatchObject({ ok: true })
    expect(await verdict({ valid_from: "2026-02-01T00:00:00Z" })).toMatchObject({ reason: "unknown_key" })
  })
  test("a revoked key checks nothing from its revocation on", async () => {
    expect(await verdict({ revoked_from: admission_clock })).toMatchObject({ reason: "unknown_key" })
    expect(await verdict({ revoked_from: "2026-02-01T00:00:00Z" })).toMatchObject({ ok: true })
  })
})

test("an opening without a trust document is the caller's mistake", async () => {
  const { trust: _, ...others } = EXPECTED
  const keys = { keys: [] }
  const expected = { ...others, keys, opening: json } as unknown as ExpectedPermit
  await expect(verifyPermit(await sign(), expected)).rejects.toThrow(RangeError)
})

test("the header of an opening that two persons signed for shows their approvals; there is none where nobody signed", async () => {
  const asked = requestApproval(deployment, ASKED)
  const signed = collectPermit(deployment, asked, { retell: withPasskeys(asked.request) }).opening
  const permit = await signPermit(openingClaims(signed, log.origin), serviceKey.privateKey, serviceKey.keyId)
  const shown_approvals = approvalsHeader(signed)
  const subjects = ["carla.diaz@example", "erik.lund@example"]
  const { program_id, route_id, admission_clock } = signed.sections.envelope
  const expected = {
    ...EXPECTED,
    ...{ program_id, route_id, audience: signed.audience, opening: JSON.stringify(signed), shown_approvals },
    approvals: { count: 2, keys: subjects.map(subject => testPasskey(subject).key) },
    now: new Date(admission_clock),
  }
  const { payload: _, ...others } = expected
  expect(await verifyPermit(permit, { ...others, payload_hash: signed.sections.payload.payload_hash })).toMatchObject({
    ok: true,
    approved: { request_hash: asked.request.request_hash, persons: subjects.map(subject => ({ subject })) },
  })
  expect(shown_approvals?.length).toBeLessThan(4096)
  expect(approvalsHeader(opening)).toBeUndefined()
  expect(approvalsHeader(collectPermit(deployment, requestApproval(deployment, ASKED)).opening)).toBeUndefined()
})

test("a header that would be cut is refused, and the error names the bound", () => {
  const asked = requestApproval(deployment, ASKED)
  const signed = collectPermit(deployment, asked, { retell: withPasskeys(asked.request) }).opening
  const approvals = signed.sections.approvals && shownApprovals(signed.sections.approvals)
  const [first] = approvals?.decisions ?? []
  if (approvals === undefined || first?.passkey === undefined) throw new Error("a person signed")
  const header = (decisions: readonly ApprovalDecision[]) =>
    approvalsHeader({
      ...signed,
      sections: { ...signed.sections, approvals: { ...approvals, decisions: [...decisions] } },
    })
  const { passkey } = first
  const sized = (length: number): ApprovalDecision => ({
    ...first,
    passkey: { ...passkey, client_data_json: "A".repeat(length) },
  })
  expect(header(Array.from({ length: 8 }, () => first))).toEqual(expect.any(String))
  expect(() => header(Array.from({ length: 9 }, () => first))).toThrow(
    new RangeError("Runseal-Approvals shows at most 8 decisions, and 9 of this opening are signed with passkeys"),
  )
  const rest = 9_216 - Buffer.from(header([sized(0)]) ?? "", "base64url").length
  expect(header([sized(rest)])).toHaveLength(12_288)
  expect(() => header([sized(rest + 1)])).toThrow(
    new RangeError("Runseal-Approvals has at most 12288 characters, and the approvals of this opening need 12290"),
  )
})

/** `--approver-keys FILE`: approvals that the keys of known persons signed. docs/verifier.md, "Proven by passkeys". */
import { readFileSync } from "node:fs"
import { withholdSections } from "@runseal/core/derivation/derive"
import { describe, expect, test } from "vitest"
import { collectPermit, requestApproval } from "../../../libs/core/test/fixtures/asked-approvals.ts"
import { makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { testPasskey, withPasskeys } from "../../../libs/core/test/fixtures/passkeys.ts"
import { closePermit } from "../../../libs/core/test/fixtures/permits.ts"
import { exportText, stateExport } from "../../../libs/core/test/fixtures/sample-exports.ts"
import { ASKED } from "../../../libs/core/test/fixtures/vectors/asked-transfer.ts"
import { commandsInFolder } from "./commands-in-folder.ts"

const SUBJECTS = ["carla.diaz@example", "erik.lund@example"] as const
const fileOf = (...keys: readonly object[]) => ({ kind: "vfa.approver_keys.v1", keys })
const [CARLA, ERIK] = SUBJECTS

describe("the published vectors", () => {
  const vector = (path: string) =>
    JSON.parse(readFileSync(new URL(`../../../libs/core/vectors/${path}`, import.meta.url), "utf8"))
  const { write, judged, verifier } = commandsInFolder("runseal-proven-vectors", {
    trustDocument: vector("trust.json"),
  })
  const opening = vector("openings/valid/approved-with-passkeys.json")
  const keyOf = (subject: string) =>
    opening.sections.approvals.decisions.map(toKey).find((key: { subject: string }) => key.subject === subject)
  const toKey = ({ person: { issuer, subject }, passkey: { public_key, origin, rp_id } }: Json) => ({
    issuer,
    subject,
    public_key,
    origin,
    rp_id,
  })
  type Json = {
    person: { issuer: string; subject: string }
    passkey: { public_key: string; origin: string; rp_id: string }
  }
  const keys = write("keys.json", fileOf(keyOf(CARLA), keyOf(ERIK)))

  test("an opening and the close of its permit are proven, and the persons named", async () => {
    for (const path of [
      "openings/valid/approved-with-passkeys.json",
      "bundles/valid/close-approved-with-passkeys.json",
    ])
      expect(await judged(vector(path), "--approver-keys", keys)).toMatchObject({
        exit: 0,
        message:
          "PROVEN BY PASSKEYS: 2 persons (carla.diaz@example, erik.lund@example) signed this act with passkeys of the file",
      })
  })

  test.each([
    ["openings/valid/approved.json", "no person signed with a passkey"],
    [
      "openings/valid/approved-with-one-passkey.json",
      "1 person (carla.diaz@example) signed with passkeys of the file, and the rules require more",
    ],
    ["openings/valid/approvals-withheld.json", "who approved is withheld"],
    [
      "bundles/valid/deny-approval-rejected.json",
      "the document holds no act that is allowed because persons approved it",
    ],
    ["bundles/valid/ok-minimal.json", "the document holds no act that is allowed because persons approved it"],
  ])("%s is not: %s", async (path, why) => {
    expect(await judged(vector(path), "--approver-keys", keys)).toMatchObject({
      exit: 1,
      first_failure: "proven_by_passkeys",
      message: `NOT PROVEN BY PASSKEYS: ${why}`,
    })
  })

  const other = testPasskey(CARLA, { seed: "another" }).key
  test.each<[string, readonly object[], string]>([
    ["one of the two persons", [keyOf(ERIK)], "1 person (erik.lund@example)"],
    ["other keys of the same persons", [other], "no approval is signed with a passkey of the file, by its person"],
    ["the same key of another person", [{ ...keyOf(CARLA), subject: "mallory" }], "no approval is signed"],
    [
      "the same key at another identity provider",
      [{ ...keyOf(CARLA), issuer: "https://other.example" }],
      "no approval",
    ],
    ["the same key at another origin", [{ ...keyOf(CARLA), origin: "https://runseal.example:8443" }], "no approval"],
  ])("a file with %s proves nothing", async (_, given, why) => {
    const file = write("others.json", fileOf(...given))
    const { exit, message } = await judged(opening, "--approver-keys", file)
    expect([exit, message]).toEqual([1, expect.stringContaining(why)])
  })

  test.each<[string, unknown, string]>([
    [
      "one key for two persons",
      fileOf(keyOf(CARLA), { ...keyOf(ERIK), public_key: keyOf(CARLA).public_key }),
      "must hold each public_key once",
    ],
    ["no key", fileOf(), "keys"],
    ["no document of keys", { keys: [keyOf(CARLA)] }, "kind"],
    ["no JSON", "keys", "not strict JSON"],
  ])("a file with %s is wrong usage", async (_, given, why) => {
    const file = write("wrong.json", given)
    const answer = await verifier(write("opening.json", opening), "--approver-keys", file)
    expect([answer.exit, answer.stderr]).toEqual([2, expect.stringContaining(why)])
  })

  test("without the option the line of a decision says whose word the passkey is", async () => {
    const { stdout } = await verifier(write("opening.json", opening), "--show-evidence-summary")
    expect(stdout).toContain("signed with a passkey")
    expect(stdout).not.toContain("PROVEN")
  })
})

describe("several documents", () => {
  const deployment = makeDeployment({ seed: "proven" })
  const { write, verifier } = commandsInFolder("runseal-proven-several", deployment)
  const keys = write("keys.json", fileOf(...SUBJECTS.map(subject => testPasskey(subject).key)))
  const asked = requestApproval(deployment, ASKED)
  const signed = collectPermit(deployment, asked, { retell: withPasskeys(asked.request) })
  const closed = closePermit(deployment, signed, {
    redeemed_at: "2026-01-15T12:04:00.000Z",
    at: "2026-01-15T12:05:00.000Z",
  }).bundle
  const run = sealRun(deployment, { outcome: "ok", tenant: "api-key-1", at: "2026-01-15T12:06:00.000Z" }).bundle
  const good = [asked.request, signed.opening, closed, run]
  const chain = exportText(stateExport(deployment, good, { at: "2026-01-15T13:00:00.250Z" }), ...good)
  const askedAgain = requestApproval(deployment, { ...ASKED, at: "2026-01-15T13:01:00.000Z" })
  const unsigned = collectPermit(deployment, askedAgain).opening
  const withheld = withholdSections(closed, ["approvals"])
  const lines = (...documents: readonly object[]): string => documents.map(one => `${JSON.stringify(one)}\n`).join("")

  test("documents that rest on no approval pass, and all are counted", async () => {
    const { stdout, exit } = await verifier(write("good.ndjson", lines(...good)), "--approver-keys", keys)
    expect(exit).toBe(0)
    expect(stdout).toContain("2  PROVEN BY PASSKEYS\n")
    expect(stdout).toContain("2  without an act that is allowed because persons approved it\n")
  })

  test("one that is not proven fails, and is named", async () => {
    const file = write("some.ndjson", lines(signed.opening, unsigned, withheld))
    const { stdout, exit } = await verifier(file, "--approver-keys", keys, "--json")
    expect(exit).toBe(1)
    const summary = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")
    expect(summary).toMatchObject({ passed: 1, proven_by_passkeys: { proven: 1, not: 2 } })
  })

  test("an export is complete, and every approval of it proven", async () => {
    const file = write("export.ndjson", chain)
    const { stdout, exit } = await verifier(file, "--complete", "--approver-keys", keys)
    expect([exit, stdout]).toEqual([0, expect.stringContaining("2  PROVEN BY PASSKEYS\n")])
    const other = write("other.json", fileOf(testPasskey("somebody").key))
    const failed = await verifier(file, "--complete", "--json", "--approver-keys", other)
    expect(failed.exit).toBe(1)
    expect(JSON.parse(failed.stdout)).toMatchObject({
      verdict: "FAILED",
      proven_by_passkeys: { not: 2, none: 2 },
      not_proven_by_passkeys: [{ line: 3 }, { line: 4 }],
    })
  })

  test("with --complete no expectation of a single document is taken", async () => {
    const given = ["--complete", "--approver-keys", keys, "--route", "x"]
    expect(await verifier(write("export.ndjson", chain), ...given)).toMatchObject({ exit: 2 })
  })
})

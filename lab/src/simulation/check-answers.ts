/** What callers were answered, beside what is stored: nothing acknowledged is missing, and nothing is there that was not asked for. */
import assert from "node:assert/strict"
import { sha256Hex } from "@runseal/canonical"
import type { Sealed } from "./check.ts"
import { type Asked, type Attempt, permitOf } from "./drawn-requests.ts"

/** A sealed document: its text, and the name of the attempt that it is of, or that name's digest. */
type Stored = { readonly text: string; readonly of: string }

/** Everything that was sealed for a caller, by the id that it was answered with. */
const storedOf = ({ runs, attestations, openings }: Sealed): ReadonlyMap<string, Stored> =>
  new Map([
    ...runs.map(({ row, stored, bundle }) => {
      const { ai_output_hash } = bundle.sections.payload
      const of = row.permit_id === "" ? row.route_id : `${ai_output_hash}`
      return [`${row.run_id}`, { text: stored.packed, of }] as const
    }),
    ...attestations.map(({ row, stored }) => [row.attestation_id, { text: stored.packed, of: row.digest }] as const),
    ...openings.map(({ row, stored }) => [row.permit_id, { text: stored.packed, of: row.route_id }] as const),
  ])

/** Checks that the answers match the stored records. @param before number of records at the start of the world */
export function checkAnswers(requests: readonly Asked[], sealed: Sealed, before: number): void {
  const stored = storedOf(sealed)
  const names = [...stored.values()].map(({ of }) => of)
  const sealedBy = ({ name }: Attempt): number => names.filter(of => isOf(name, of)).length
  let all = 0
  for (const asked of requests) {
    const { name, claim, attempts } = asked
    const count = attempts.reduce((sum, attempt) => sum + sealedBy(attempt), 0)
    all += count
    for (const attempt of attempts) checkAttempt(asked, attempt, sealedBy(attempt), stored)
    if (claim === undefined) continue
    assert.ok(count <= 1, `${name} has one key and ${count} records`)
    const records = attempts.flatMap(({ ending }) => (ending?.kind === "answered" ? [ending.record] : []))
    assert.ok(new Set(records).size <= 1, `${name} is answered alike each time`)
    const denied = attempts.some(({ ending }) => ending?.kind === "denied")
    assert.ok(!denied || count === 0, `${name} was refused for good, and its record is there under its key`)
  }
  assert.equal(before + all, stored.size, "nothing is sealed that no caller requested")
  checkRedemptions(requests, sealed)
}

function checkAttempt(
  { attempts }: Asked,
  { name, ending }: Attempt,
  count: number,
  stored: ReadonlyMap<string, Stored>,
): void {
  assert.ok(count <= 1, `${name} is sealed once`)
  if (ending?.kind === "answered") {
    const record = stored.get(ending.record)
    assert.ok(record !== undefined, `${name} was acknowledged as ${ending.record} and is there`)
    assert.ok(
      attempts.some(attempt => isOf(attempt.name, record.of)),
      `${name} was answered with its own record`,
    )
    if (ending.text !== undefined) assert.equal(record.text, ending.text, `${name} is as it was answered`)
  } else if (ending?.kind === "denied" || (ending?.kind === "refused" && ending.nothingWritten))
    assert.equal(count, 0, `${name} was answered that nothing was written`)
}

/** A permit is redeemed once for all, at the time that was answered. */
function checkRedemptions(requests: readonly Asked[], { openings }: Sealed): void {
  for (const opening of requests.filter(({ kind }) => kind === "opening")) {
    const own = requests.filter(({ kind, opening: of }) => kind === "redemption" && of === opening)
    const times = own.flatMap(({ attempts }) =>
      attempts.flatMap(({ ending }) => (ending?.kind === "redeemed" ? [ending.at] : [])),
    )
    assert.ok(times.length <= 1, `${opening.name} was redeemed once`)
    const row = openings.find(({ row: { permit_id } }) => permit_id === permitOf(opening))?.row
    if (times[0] !== undefined)
      assert.equal(row?.redeemed_at, times[0], `${opening.name} is redeemed as it was answered`)
    else if (own.length === 0) assert.equal(row?.redeemed_at ?? 0, 0, `nobody redeemed ${opening.name}`)
  }
}

const isOf = (name: string, of: string): boolean => of === name || of === sha256Hex(name)

/** One record held against one opening: what makes it the close of that opening, and of no other. */
import { describe, expect, test } from "vitest"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import type { Opening } from "../src/artifacts/opening.ts"
import { compareClose } from "../src/verify/close-of-opening.ts"
import { type Deployment, makeDeployment, sealRun, tenantOf } from "./fixtures/deployment.ts"
import { closePermit, openPermit, type SealedOpening } from "./fixtures/permits.ts"
import { using } from "./fixtures/samples.ts"

const a = makeDeployment()
const first = openPermit(a)
const other = openPermit(a)
const once = openPermit(a, { redeem_required: true })
const run = sealRun(a, { outcome: "ok" }).bundle
const close = closePermit(a, first, { declared: using(2600) }).bundle
const failed = closePermit(a, other, { failed: "TIMED_OUT", declared: "nothing" }).bundle
const unredeemed = closePermit(a, once).bundle

test("a close and its opening fit, also when the act failed", () => {
  expect(compareClose(close, first.opening)).toEqual({ problems: [], notes: [] })
  expect(compareClose(failed, other.opening)).toEqual({ problems: [], notes: [] })
})

test("that a permit had to be redeemed and was not is a note", () => {
  expect(compareClose(unredeemed, once.opening)).toEqual({
    problems: [],
    notes: [expect.stringMatching(/had to be redeemed, was not$/)],
  })
})

test("a record that closes no permit, or another one, is not the close", () => {
  expect(compareClose(run, first.opening).problems).toEqual(["closes no permit"])
  expect(compareClose(failed, first.opening).problems).toEqual([
    expect.stringMatching(/^closes the permit pmt-\w+, and the opening is of pmt-\w+$/),
  ])
})

test("a copy of the opening in another log or chain is not the one that was closed", () => {
  const { leaf, entry } = first.opening
  const moved: Opening = { ...first.opening, entry: { ...entry, logIndex: "99" } }
  expect(compareClose(close, moved).problems).toEqual(
    expect.arrayContaining([
      "is not behind the opening in the log",
      "names another log entry than that of its opening",
    ]),
  )
  const foreign = { ...first.opening, leaf: { ...leaf, tenant_commitment: "0".repeat(64), tenant_ordinal: 99 } }
  expect(compareClose(close, foreign).problems).toEqual(
    expect.arrayContaining(["is of another tenant", "is not behind the opening in its chain"]),
  )
})

test("an opening of a forked log is not the one before the record", () => {
  const [one, two] = [makeDeployment(), makeDeployment()]
  const opened = openPermit(one)
  const forked = openPermit(two, { audience: "refunds.example" }).opening
  const record = closePermit(one, opened).bundle
  expect(compareClose(record, { ...opened.opening, entry: forked.entry }).problems).toEqual([
    "proves itself in another tree than the opening: the log was forked",
  ])
})

describe("what an operator with every key can sign is found", () => {
  const { reservation } = first.opening
  const reservingLess: Opening = { ...first.opening, reservation: { ...reservation, tokens: 1000 } }
  const elsewhere: Opening = { ...first.opening, entry: other.opening.entry }

  test.each<[string, string, (deployment: Deployment, opened: SealedOpening) => Bundle]>([
    [
      "another amount",
      "settles another reservation than that of its opening",
      (deployment, { plan }) => closePermit(deployment, { opening: reservingLess, plan }).bundle,
    ],
    [
      "another log entry",
      "names another log entry than that of its opening",
      (deployment, opened) => closePermit(deployment, opened, { names: elsewhere }).bundle,
    ],
    [
      "a close after its time",
      "was closed after 2026-01-15T12:10:00.750Z, until when it could be",
      (deployment, opened) => closePermit(deployment, opened, { at: "2026-01-15T12:10:01.000Z" }).bundle,
    ],
    [
      "a redemption after the permit expired",
      "has a redemption from after 2026-01-15T12:05:00.750Z, when the permit expired",
      (deployment, opened) =>
        closePermit(deployment, opened, { at: "2026-01-15T12:08:00.000Z", redeemed_at: "2026-01-15T12:06:00.000Z" })
          .bundle,
    ],
    [
      "tokens from nowhere",
      "begins movement 2 of the window of 2026-01-15T00:00:00.000Z at 2500, and movement 1 leaves it at 2000",
      (deployment, opened) => {
        tenantOf(deployment, "api-key-1").spent.set(Date.parse(reservation.window_start), { total: 2500, ordinal: 1 })
        return closePermit(deployment, opened).bundle
      },
    ],
  ])("%s", (_, problem, sealed) => {
    const deployment = makeDeployment()
    const opened = openPermit(deployment)
    expect(compareClose(sealed(deployment, opened), opened.opening).problems).toContain(problem)
  })
})

import { VERDICTS } from "@runseal/core/verify/report"
import { unpackBundle } from "@runseal/server/store/bundle-text"
import { expect, test } from "vitest"
import { SAMPLED_EVERY, sampleOf } from "./sample.ts"

const DOCUMENTS = 50 * SAMPLED_EVERY
const texts = Array.from({ length: DOCUMENTS }, (_, i) => ({
  text: `{"document":${i}}`,
  verdict: VERDICTS.complete,
  pack: i % 2 === 0,
}))

test("some documents are verified, all are taken, and packed where that is asked for", async () => {
  const drawnText = Uint8Array.of(0)
  const sample = sampleOf(async drawn => drawn.map(() => ({ packed: drawnText })))
  const judgements = await sample.verify(texts)
  expect(sample.verified()).toBeGreaterThan(10)
  expect(sample.verified()).toBeLessThan(150)
  const taken = judgements.map(judged => ("packed" in judged ? judged.packed : undefined))
  expect(taken.filter(packed => packed === drawnText)).toHaveLength(sample.verified())
  for (const [i, packed] of taken.entries()) {
    if (packed === drawnText) continue
    expect(packed === undefined ? undefined : unpackBundle(packed)).toBe(texts[i]?.pack ? texts[i].text : undefined)
  }
})

test("one that does not verify ends the load", async () => {
  const sample = sampleOf(async () => [{ objection: "it is forged" }])
  await expect(sample.verify(texts)).rejects.toThrow("it is forged")
})

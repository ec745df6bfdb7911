import { VERDICTS } from "@runseal/core/verify/report"
import { expect, test } from "vitest"
import { SAMPLED_EVERY, sampleOf } from "./sample.ts"

const texts = Array.from({ length: 50 * SAMPLED_EVERY }, (_, i) => ({ text: `${i}`, verdict: VERDICTS.complete }))

test("some documents are verified, all are taken", async () => {
  const sample = sampleOf(async drawn => drawn.map(() => undefined))
  expect(await sample.verify(texts)).toEqual(texts.map(() => undefined))
  expect(sample.verified()).toBeGreaterThan(10)
  expect(sample.verified()).toBeLessThan(150)
})

test("one that does not verify ends the load", async () => {
  const sample = sampleOf(async () => ["it is forged"])
  await expect(sample.verify(texts)).rejects.toThrow("it is forged")
})

import { describe, expect, test } from "vitest"
import { createReviewer, MAX_REVIEWED_BYTES, ReviewConfigError } from "./create-reviewer.ts"

const signal = new AbortController().signal
const timeoutMs = 1000

describe("the reviewer of a configuration", () => {
  test("none releases everything and says that nothing was reviewed", async () => {
    const reviewer = createReviewer({ kind: "none", timeoutMs })
    expect(reviewer.adapter_id).toBe("none")
    expect(await reviewer.review({ ai_output_text: "x", route_id: "r" }, signal)).toEqual({
      decision_kind: "release",
      decision_reason: "REVIEW_DISABLED",
      rule_ids: [],
      finding_count: 0,
    })
  })

  test.each([
    ["builtin", "builtin-rules", undefined],
    ["openai", "openai-compatible", "m"],
    ["anthropic", "anthropic", "m"],
  ] as const)("%s is the adapter %s", (kind, adapter_id, model) => {
    const reviewer = createReviewer({ kind, model: "m", apiKey: "k", timeoutMs })
    expect(reviewer).toMatchObject({ adapter_id })
    expect(reviewer.model).toBe(model)
  })

  test.each([
    ["no model", { apiKey: "k" }],
    ["an empty model", { apiKey: "k", model: "" }],
    ["neither key nor own server", { model: "m" }],
    ["a key with a line break", { model: "m", apiKey: "top-secret\nx: y" }],
    ["a key beyond ASCII", { model: "m", apiKey: "top-secret-é" }],
  ])("with %s is refused without naming a secret", (_, config) => {
    const create = () => createReviewer({ kind: "openai", timeoutMs, ...config })
    expect(create).toThrow(ReviewConfigError)
    expect(create).not.toThrow(/top-secret/)
  })

  test("text beyond the largest body is not sent anywhere", async () => {
    const reviewer = createReviewer({ kind: "openai", model: "m", baseUrl: "http://127.0.0.1:9", timeoutMs })
    const ai_output_text = "é".repeat(MAX_REVIEWED_BYTES / 2 + 1)
    await expect(reviewer.review({ ai_output_text, route_id: "r" }, signal)).rejects.toMatchObject({
      code: "too_large",
    })
  })
})

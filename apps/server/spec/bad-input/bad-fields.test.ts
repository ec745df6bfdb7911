/** docs/api.md, "POST /execute": wrong types and values in every field it names. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { CANARY, refusal } from "../harness/refusal.ts"
import { fullRequest, request, requestWithout } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const service = standingService()

const refuse = (body: JsonValue): Promise<string> => refusal(service(), to => to.execute(body))

/** The full request with one member replaced; a number in the path is a place in a list. */
function replaced(path: string, value: JsonValue): JsonObject {
  const at = (node: JsonValue, [key = "", ...rest]: readonly string[]): JsonValue => {
    if (Array.isArray(node)) return node.map((item, i) => (`${i}` === key ? inner(item, rest) : item))
    const object = node as JsonObject
    return { ...object, [key]: inner(object[key] ?? {}, rest) }
  }
  const inner = (node: JsonValue, rest: readonly string[]): JsonValue => (rest.length === 0 ? value : at(node, rest))
  return at(fullRequest(), path.split(".")) as JsonObject
}

const OBJECT: JsonValue = { [CANARY]: CANARY }
const LIST: JsonValue = [CANARY]
/** What a member of each kind must not be. */
const WRONG: Readonly<Record<string, readonly JsonValue[]>> = {
  text: [1, true, OBJECT, LIST],
  boolean: [CANARY, "true", 0, OBJECT],
  number: [CANARY, "0.5", true, LIST],
  count: [CANARY, "1", -1, 0.5, 1e-7, true, OBJECT, LIST],
  object: [CANARY, 1, false, LIST],
  list: [CANARY, 1, false, OBJECT],
  hash: [CANARY, "", "a".repeat(63), "a".repeat(65), "A1".repeat(32), "g".repeat(64), ` ${"a".repeat(63)}`, 1, LIST],
  base64: [CANARY, "a", "aGk", "aGk=\n", "aGk_", 1, OBJECT],
}

/** Every member that docs/api.md names, with its kind. */
const MEMBERS: readonly (readonly [path: string, kind: keyof typeof WRONG])[] = [
  ["program_id", "hash"],
  ["registry_record_hash", "hash"],
  ["route_id", "text"],
  ["payload", "text"],
  ["payload_text", "text"],
  ["ai_output_text", "text"],
  ...["attested_context", "request_substance", "authorization_chain", "regulatory_scaffolding", "causal_graph"].map(
    name => [name, "object"] as const,
  ),
  ["reproducibility_context", "object"],
  ["attested_context.attested", "boolean"],
  ["attested_context.actor_signature", "base64"],
  ["attested_context.model_temperature", "number"],
  ["attested_context.prompt_hash", "hash"],
  ..."actor_id actor_role authorization_policy model_provider model_name model_version decision_kind decision_result decision_note"
    .split(" ")
    .map(name => [`attested_context.${name}`, "text"] as const),
  ["request_substance.prompt", "object"],
  ["request_substance.prompt.hash", "text"],
  ["request_substance.prompt.template_id", "text"],
  ["request_substance.output", "object"],
  ["request_substance.output.hash", "text"],
  ["request_substance.cost", "object"],
  ["request_substance.cost.input_tokens", "count"],
  ["request_substance.cost.output_tokens", "count"],
  ["request_substance.cost.total_tokens", "count"],
  ["request_substance.origin", "object"],
  ["request_substance.authentication", "object"],
  ["authorization_chain.approvers", "list"],
  ["authorization_chain.approvers.0", "object"],
  ["authorization_chain.approvers.0.order", "count"],
  ..."actor_id actor_role approved_at approved_request_hash signature comment"
    .split(" ")
    .map(name => [`authorization_chain.approvers.0.${name}`, "text"] as const),
  ["authorization_chain.threshold_checks", "list"],
  ["authorization_chain.threshold_checks.0", "object"],
  ["authorization_chain.threshold_checks.0.breached", "boolean"],
  ..."name unit operator".split(" ").map(name => [`authorization_chain.threshold_checks.0.${name}`, "text"] as const),
  ["authorization_chain.human_in_loop", "object"],
  ["authorization_chain.human_in_loop.required", "boolean"],
  ["authorization_chain.human_in_loop.performed", "boolean"],
  ..."performed_by performed_at review_mode review_outcome"
    .split(" ")
    .map(name => [`authorization_chain.human_in_loop.${name}`, "text"] as const),
  ["regulatory_scaffolding.data_classification", "object"],
  ["regulatory_scaffolding.data_classification.personal", "list"],
  ["regulatory_scaffolding.data_classification.personal.0", "text"],
  ["causal_graph.effect_log", "list"],
  ["causal_graph.effect_log.0", "object"],
  ..."effect_kind target status issued_at ack_hash"
    .split(" ")
    .map(name => [`causal_graph.effect_log.0.${name}`, "text"] as const),
]

test("the request with everything in it is accepted", async () => {
  expect((await service().execute(fullRequest())).status).toBe(200)
})

test.each(MEMBERS)("%s must be of its kind (%s)", async (path, kind) => {
  for (const value of WRONG[kind]!) {
    const error = await refuse(replaced(path, value))
    expect(error, JSON.stringify(value)).toContain(path.split(".")[0])
  }
})

test.each(["threshold_value", "observed_value"])("a threshold's %s is a number or text", async name => {
  for (const value of [true, OBJECT, LIST])
    await refuse(replaced(`authorization_chain.threshold_checks.0.${name}`, value))
  for (const value of [1.5, "1.5"])
    expect((await service().execute(replaced(`authorization_chain.threshold_checks.0.${name}`, value))).status).toBe(
      200,
    )
})

describe("null", () => {
  const REQUIRED = ["program_id", "route_id", "registry_record_hash"]
  const isItem = (path: string): boolean => /\.0$/.test(path)

  test.each([...REQUIRED, "payload"])("is no %s", async name => {
    expect(await refuse(request({ [name]: null }))).toContain(name)
  })

  test.each(MEMBERS.map(([path]) => path).filter(isItem))("is no item %s", async path => {
    await refuse(replaced(path, null))
  })

  test("of every optional member is as if it were not sent, and is not sealed", async () => {
    for (const [path] of MEMBERS.filter(([name]) => !REQUIRED.includes(name) && name !== "payload" && !isItem(name))) {
      const { status, body } = await service().execute(replaced(path, null))
      expect(status, path).toBe(200)
      expect(JSON.stringify((await service().get(`/runs/${body.run_id}/artifacts`)).body), path).not.toContain(":null")
    }
  })
})

describe("missing and empty", () => {
  test.each(["program_id", "route_id", "registry_record_hash"])("%s is required", async name => {
    expect(await refuse(requestWithout(name))).toContain(name)
  })

  test("one of payload and payload_text is required", async () => {
    expect(await refuse(requestWithout("payload"))).toContain("payload")
  })

  test("route_id must not be empty, and not longer than 512 UTF-16 units", async () => {
    expect(await refuse(request({ route_id: "" }))).toContain("route_id")
    expect(await refuse(request({ route_id: "r".repeat(513) }))).toContain("route_id")
    expect(await refuse(request({ route_id: "😀".repeat(257) }))).toContain("route_id")
  })

  test("an empty object lacks everything", async () => {
    await refuse({})
  })
})

describe("attested_context accepts only its fields", () => {
  test.each([
    ...[CANARY, "", "Attested", "actor", "actor_id ", "actorId", "payload", "hash", "kind", "origin", "source_ip_hash"],
    ...["toString", "constructor", "hasOwnProperty", "valueOf", "prototype", "__defineGetter__"],
  ])("not %j", async name => {
    expect(await refuse(request({ attested_context: { actor_id: "a", [name]: "x" } }))).toContain("attested_context")
  })

  test("not __proto__", async () => {
    const text = JSON.stringify(request()).replace("{", `{"attested_context":{"__proto__":{"actor_id":"${CANARY}"}},`)
    expect(await refusal(service(), to => to.postRaw("/execute", text))).toContain("attested_context")
  })
})

describe("names that every object inherits are checked like others", () => {
  test.each(["constructor", "toString", "__proto__"])("a data classification named %s must list labels", async name => {
    const text = JSON.stringify(request()).replace(
      "{",
      `{"regulatory_scaffolding":{"data_classification":{"${name}":"${CANARY}"}},`,
    )
    await refusal(service(), to => to.postRaw("/execute", text))
  })
})

test("a charge that would take the window beyond 2^53 − 1 is refused, and charges nothing", async () => {
  const most = { cost: { total_tokens: Number.MAX_SAFE_INTEGER } }
  const answer = await service().execute(request({ request_substance: most }))
  expect(answer.body.error_stage).toBe("CCV")
  await refuse(request({ request_substance: { cost: { total_tokens: Number.MAX_SAFE_INTEGER + 1 } } }))
})

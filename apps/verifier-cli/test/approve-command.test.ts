/** `verifier approve --offline FILE`: what an approver is asked for. docs/verifier.md, "Before you approve". */
import { digest } from "@runseal/canonical"
import { expect, test } from "vitest"
import { requestApproval } from "../../../libs/core/test/fixtures/asked-approvals.ts"
import { makeDeployment } from "../../../libs/core/test/fixtures/deployment.ts"
import { signedOf } from "../../../libs/core/test/fixtures/passkeys.ts"
import { ASKED } from "../../../libs/core/test/fixtures/vectors/asked-transfer.ts"
import { commandsInFolder } from "./commands-in-folder.ts"

const deployment = makeDeployment({ seed: "approve" })
const { write, verifier } = commandsInFolder("runseal-approve", deployment)

/** The answer of `GET /approvals/{id}`, as far as the command reads it: what the service says besides the sealed request counts for nothing. */
function answerFor(payload: string, other: object = {}) {
  const { act_table: _, ...others } = ASKED
  const { request } = requestApproval(deployment, { ...(payload === PAYLOAD ? ASKED : others), payload })
  const answer = { ok: true, approval_id: request.approval_id, state: "waiting", act: { table: "lies", values: [] } }
  return { request, file: write("approval.json", { ...answer, request, payload, ...other }) }
}

const PAYLOAD =
  '{"arguments":{"amount":12500.00,"currency":"EUR","cc":["a","b"]},"to":"Müller \\u202e","list":[true,null,"\\\\[U+202E]"],"none":{}}'

test("the act, every member of the payload and the rules are printed from what is sealed", async () => {
  const { file, request } = answerFor(PAYLOAD)
  const { stdout, exit } = await verifier("approve", "--offline", file)
  expect(exit).toBe(0)
  for (const line of [
    `  approval          ${request.approval_id}`,
    "  asked by          api-key-1",
    "  for end user      anna.weber@example",
    "  to be done by     payments.example",
    '  "amount": "12500.0", read at "/arguments/amount"',
    "The payload, read from its own text (values: 9; of them not in the act: 5)",
    '    "arguments": object',
    '      "amount": 12500.00  (act value "amount")',
    '      "cc": list of 2  (act value "cc")',
    '        0: "a"  (act value "cc")',
    '  "cc": "a", "b", read at "/arguments/cc"',
    '    "to": "M\\[U+00FC]ller \\[U+202E]"',
    '    "list": list of 3',
    "      1: null",
    '      2: "\\\\[U+202E]"',
    '    "none": object without members',
    '  2 of "treasury" or "finance", proof any, within 3600 s, by rule "two-people"',
  ])
    expect(stdout.split("\n")).toContain(line)
  expect(stdout).not.toContain("lies")
  expect(stdout.trimEnd().split("\n").at(-1)).toBe("APPROVAL REQUEST VERIFIED AND ANCHORED")
})

test("nothing of a long payload is cut", async () => {
  const long = "a".repeat(5000)
  const { stdout } = await verifier("approve", "--offline", answerFor(JSON.stringify({ long })).file)
  expect(stdout).toContain(`"long": "${long}"\n`)
})

test.each([
  ["a member twice", '{"amount":1,"amount":2}\n', '  "{\\"amount\\":1,\\"amount\\":2}\\[U+000A]"'],
  ["no JSON", "pay 120\u200b", '  "pay 120\\[U+200B]"'],
])("a payload with %s is shown as a text", async (_, payload, line) => {
  const { stdout } = await verifier("approve", "--offline", answerFor(payload).file)
  expect(stdout.split("\n")).toContain(line)
})

test("the digest is what the passkey of this person signs", async () => {
  const { file, request } = answerFor(PAYLOAD)
  const person = { issuer: "https://login.example", subject: "anna@example" }
  const who = ["--issuer", person.issuer, "--subject", person.subject]
  const { stdout } = await verifier("approve", "--offline", file, ...who)
  const { comment_hash: _, ...signed } = signedOf(request, { decision: "approve", person })
  const expected = digest({ kind: "vfa.approval_decision.v1", ...signed })
  expect(stdout).toContain(`  digest            ${expected}\n`)
  expect(stdout).toContain(`  challenge         ${Buffer.from(expected, "hex").toString("base64url")}\n`)
  expect(await verifier("approve", "--offline", file, "--subject", "anna")).toMatchObject({ exit: 2 })
})

test.each<[string, (file: ReturnType<typeof answerFor>) => object, string]>([
  ["another payload", ({ request }) => ({ request, payload: "{}" }), "another one than the sealed one"],
  ["no payload", ({ request }) => ({ request }), "its payload is not in the file"],
])("with %s nothing is shown", async (_, changed, why) => {
  const file = write("changed.json", { approval_id: "apr", ...changed(answerFor(PAYLOAD)) })
  const { stdout, stderr, exit } = await verifier("approve", "--offline", file)
  expect([exit, stdout, stderr]).toEqual([1, "", expect.stringContaining(why)])
})

test("a request that was changed FAILED", async () => {
  const { request } = answerFor(PAYLOAD)
  const changed = { approval_id: "apr", request: { ...request, reserve_tokens: 1 }, payload: PAYLOAD }
  const { stdout, exit } = await verifier("approve", "--offline", write("changed.json", changed))
  expect([exit, stdout]).toEqual([1, expect.stringContaining("FAILED")])
  expect(stdout).not.toContain("The payload")
})

test("what is no request, and a command that would have to send, are wrong usage", async () => {
  const { file } = answerFor(PAYLOAD)
  const plain = await verifier("approve", file)
  expect([plain.exit, plain.stderr]).toEqual([2, expect.stringContaining("people decide in the console")])
  expect(await verifier("approve", "--offline", write("other.json", { ok: true }))).toMatchObject({ exit: 2 })
})

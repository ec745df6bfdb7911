/** "A passkey signed": docs/formats.md section 2.8, held to answers that an authenticator of others gave, and to such as none gives. */
import { readFileSync } from "node:fs"
import { decodeBase64, encodeBase64 } from "@runseal/canonical"
import * as v from "valibot"
import { describe, expect, test } from "vitest"
import { passkeySchema } from "../src/artifacts/passkey.ts"
import { assertionProblem } from "../src/verify/assertion.ts"

const made = v.object({ says: v.string(), holds: v.boolean(), challenge: v.string(), passkey: passkeySchema })
const file = new URL("fixtures/assertions.json", import.meta.url)
const { emulated, otherwise } = v.parse(
  v.object({ emulated: v.array(made), otherwise: v.array(made) }),
  JSON.parse(readFileSync(file, "utf8")),
)

describe.each([
  ["an authenticator of others", emulated],
  ["a key of ours", otherwise],
])("what %s signed", (_, cases) => {
  test.each(cases)("$says: $holds", ({ holds, challenge, passkey }) => {
    expect(assertionProblem(passkey, challenge) === undefined).toBe(holds)
  })
})

const PARTS = ["public_key", "authenticator_data", "client_data_json", "signature"] as const

test("no bit of what holds can be another", () => {
  const holding = [...emulated, ...otherwise].filter(
    ({ holds, passkey }) => holds && passkey.client_data_json.length < 300,
  )
  expect(holding.length).toBeGreaterThan(10)
  let changed = 0
  for (const { challenge, passkey } of holding)
    for (const part of PARTS) {
      const bytes = decodeBase64(passkey[part]) ?? new Uint8Array()
      for (const [at, byte] of bytes.entries()) {
        const other = encodeBase64(bytes.with(at, byte ^ (1 << (at % 8))))
        expect(assertionProblem({ ...passkey, [part]: other }, challenge), `${part} ${at}`).toBeTypeOf("string")
        changed++
      }
    }
  expect(changed).toBeGreaterThan(3000)
})

test("it was signed for one challenge, origin and relying party", () => {
  const [first] = emulated
  if (first === undefined) throw new Error("there is none")
  const { challenge, passkey } = first
  const others = [{ origin: `${passkey.origin}:8443` }, { origin: "https://other.example" }, { rp_id: "other.example" }]
  for (const other of others) expect(assertionProblem({ ...passkey, ...other }, challenge)).toBeTypeOf("string")
  for (const other of ["0".repeat(64), "", "no hex"])
    expect(assertionProblem(passkey, other)).toBe("signed something else")
})

/**
 * Permits in libraries of others: jose alone, and PyJWT with the program of docs/executors.md, against the keys that a real service serves, before
 * and after its service key is changed and revoked. PyJWT is installed into a folder of its own; without Python or its package index the
 * tests are skipped and say so.
 */
import { execFile, execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { promisify } from "node:util"
import { sha256Hex, utf8Encode } from "@runseal/canonical"
import { createRemoteJWKSet, decodeJwt, jwtVerify } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Child, endStrays, runToEnd, startChild } from "../harness/child.ts"
import { textAt } from "../harness/read-answer.ts"

const TIMEOUT_MS = 480_000
const PAYLOAD = '{"amount":"120.00","to":"DE02"}'
const PROGRAM = sha256Hex(utf8Encode("treasury agent"))

const folder = testFolder("runseal-permit-tokens")
const options = ["--data-dir", join(folder, "data")]
const python = installPyJwt()
const absent = "why" in python ? ` (not run: ${python.why})` : ""

let server: Child
let issuer: string
beforeAll(async () => {
  server = await startChild(options)
  issuer = textAt((await server.get("/version")).body, "log_origin")
}, TIMEOUT_MS)
afterAll(async () => {
  await endStrays()
})

function installPyJwt(): { readonly command: string } | { readonly why: string } {
  const place = join(folder, "python")
  try {
    execFileSync("python3", ["-m", "venv", place], { stdio: "pipe" })
    execFileSync(join(place, "bin/pip"), ["install", "-q", "pyjwt[crypto]"], { stdio: "pipe" })
    return { command: join(place, "bin/python") }
  } catch (error) {
    const [why = ""] = String(error).split("\n")
    return { why: `PyJWT could not be installed, ${why.slice(0, 100)}` }
  }
}

const open = async (change: object = {}): Promise<string> => {
  const body = {
    program_id: PROGRAM,
    route_id: "payments/transfer",
    registry_record_hash: "b".repeat(64),
    payload: PAYLOAD,
  }
  const answer = await server.post("/permits", { ...body, audience: "payments", reserve_tokens: 0, ...change })
  expect(answer.status, answer.text).toBe(201)
  return textAt(answer.body, "permit")
}

/** What the program of docs/executors.md says of a permit: the permit's id, or the name of its error. */
async function inPython(permit: string, body = PAYLOAD): Promise<string> {
  const page = readFileSync(new URL("../../../../docs/executors.md", import.meta.url), "utf8")
  const programs = [...page.matchAll(/^```python\n([\s\S]*?)^```$/gm)].map(([, program = ""]) => program)
  const program = programs.find(each => each.includes("jwt.PyJWKClient")) ?? ""
  const ours = program
    .replaceAll("https://runseal.example", server.url)
    .replace("runseal.example - 4127", issuer)
    .replace('"3f" * 32', JSON.stringify(PROGRAM))
    .replace("api-key-7", "anonymous")
  const file = join(folder, "check.py")
  const ask = "import sys\ntry:\n    print(permitted(sys.argv[1], sys.argv[2].encode())['jti'])\n"
  writeFileSync(file, `${ours}\n${ask}except jwt.PyJWTError as error:\n    print(type(error).__name__)\n`)
  const { stdout } = await promisify(execFile)("command" in python ? python.command : "", [file, permit, body])
  return stdout.trim()
}

/** What jose says of a permit: the claims, or the code of its error. */
const inJose = (permit: string): Promise<unknown> =>
  jwtVerify(permit, createRemoteJWKSet(new URL("/.well-known/jwks.json", server.url)), {
    algorithms: ["ES256"],
    typ: "runseal-permit+jwt",
    audience: "payments",
    issuer,
    requiredClaims: ["sub", "jti", "iat", "nbf", "exp"],
  }).then(
    ({ payload }) => payload,
    (error: { readonly code?: string }) => error.code,
  )
const idOf = (permit: string): string => JSON.parse(Buffer.from(permit.split(".")[1] ?? "", "base64url").toString()).jti

test("jose alone accepts a permit, and its claims are those of docs/executors.md", async () => {
  const claims = await inJose(await open())
  expect(claims).toMatchObject({
    sub: "anonymous",
    runseal: { program_id: PROGRAM, payload_hash: sha256Hex(utf8Encode(PAYLOAD)), reserve_tokens: 0 },
  })
  expect(await inJose(await open({ audience: "refunds" }))).toBe("ERR_JWT_CLAIM_VALIDATION_FAILED")
  const expired = await open({ valid_for_seconds: 5 })
  await setTimeout(1000 * (decodeJwt(expired).exp ?? 0) + 100 - Date.now())
  expect(await inJose(expired)).toBe("ERR_JWT_EXPIRED")
})

describe.skipIf("why" in python)(`the Python program of docs/executors.md${absent}`, () => {
  test("accepts a permit for its act", async () => {
    const permit = await open()
    expect(await inPython(permit)).toBe(idOf(permit))
  })

  test("refuses a permit that must be redeemed, since it redeems none, and one without a key id", async () => {
    const permit = await open({ redeem_required: true })
    expect(await inPython(permit)).toBe("InvalidTokenError")
    const [, claims, signature] = permit.split(".")
    const header = Buffer.from('{"alg":"ES256","typ":"runseal-permit+jwt"}').toString("base64url")
    expect(await inPython([header, claims, signature].join("."))).toBe("PyJWKClientError")
    expect(await inPython(await open({ enforcement: "observe" }))).toBe("InvalidTokenError")
  })

  test("refuses another payload, route, program, audience and type, and a changed permit", async () => {
    const permit = await open()
    expect(await inPython(permit, `${PAYLOAD} `)).toBe("InvalidTokenError")
    expect(await inPython(await open({ route_id: "payments/refund" }))).toBe("InvalidTokenError")
    expect(await inPython(await open({ program_id: "c".repeat(64) }))).toBe("InvalidTokenError")
    expect(await inPython(await open({ audience: "refunds" }))).toBe("InvalidAudienceError")
    const [header = "", claims, signature] = permit.split(".")
    const other = Buffer.from(Buffer.from(header, "base64url").toString().replace("permit", "pormit")).toString(
      "base64url",
    )
    expect(await inPython([other, claims, signature].join("."))).toBe("InvalidTokenError")
    const turned = `${signature?.startsWith("A") ? "B" : "A"}${signature?.slice(1)}`
    expect(await inPython([header, claims, turned].join("."))).toBe("InvalidSignatureError")
  })
})

test(
  "a permit of a service key that was replaced is still accepted, and none of one that was revoked",
  async () => {
    const before = await open()
    await server.end("SIGTERM")
    const keys = async (...words: readonly string[]): Promise<string> => {
      await setTimeout(1100)
      const { code, stdout, stderr } = await runToEnd([...options, "keys", ...words])
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return stdout
    }
    const { changed } = JSON.parse(await keys("rotate", "service", "--json"))
    server = await startChild(options)
    const after = await open()
    for (const permit of [before, after]) {
      expect(await inJose(permit)).toMatchObject({ jti: idOf(permit) })
      if ("command" in python) expect(await inPython(permit)).toBe(idOf(permit))
    }
    await server.end("SIGTERM")
    const { retired } = changed[0]
    const listed: readonly { readonly key_id: string; readonly valid_to: string }[] = JSON.parse(
      await keys("list", "--json"),
    ).keys
    await keys("revoke", retired, "--from", listed.find(({ key_id }) => key_id === retired)?.valid_to ?? "")
    server = await startChild(options)
    expect(await inJose(before)).toBe("ERR_JWKS_NO_MATCHING_KEY")
    if ("command" in python) expect(await inPython(before)).toBe("PyJWKClientError")
    expect(await inJose(after)).toMatchObject({ jti: idOf(after) })
  },
  TIMEOUT_MS,
)

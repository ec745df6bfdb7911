/** Options of the identity provider. docs/operations.md, "Options". */
import { expect, test } from "vitest"
import { readConfig } from "./config.ts"

const read = (...argv: readonly string[]) => {
  const config = readConfig(argv, {})
  if ("ended" in config) throw new Error("the options ask for help")
  return config
}
const ISSUER = ["--issuer", "https://id.example/"]
const AUDIENCE = ["--end-user-audience", "https://agents.example"]

test("an issuer is kept by its characters, with the claims sub and groups unless others are named", () => {
  expect(read().identityProvider).toBeUndefined()
  expect(read(...ISSUER).identityProvider).toEqual({
    issuer: "https://id.example/",
    personClaim: "sub",
    groupClaim: "groups",
  })
  expect(read(...ISSUER, "--person-claim", "oid", "--group-claim", "roles").identityProvider).toMatchObject({
    personClaim: "oid",
    groupClaim: "roles",
  })
  expect(read("--issuer", "http://127.0.0.1:9/").identityProvider?.issuer).toBe("http://127.0.0.1:9/")
})

test("requests name end users where there is an audience, each once", () => {
  expect(read(...ISSUER).endUsers).toBeUndefined()
  expect(read(...ISSUER, ...AUDIENCE, "--end-user-audience", "other", ...AUDIENCE).endUsers).toMatchObject({
    audiences: ["https://agents.example", "other"],
    mode: "optional",
  })
})

test.each([
  [["--issuer", "http://id.example"], "--issuer must be an https address"],
  [["--issuer", "https://id.example/?tenant=1"], "--issuer must be an https address"],
  [["--person-claim", "oid"], "--person-claim needs --issuer"],
  [["--group-claim", "roles"], "--group-claim needs --issuer"],
  [AUDIENCE, "--end-user-audience needs --issuer"],
  [[...ISSUER, "--end-user", "required"], "--end-user required needs --end-user-audience"],
])("%j stops the start: %s", (argv, sentence) => {
  expect(() => read(...argv)).toThrow(sentence)
})

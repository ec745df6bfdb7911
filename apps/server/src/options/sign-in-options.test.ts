/** Options with which people sign in to the console. docs/identity.md, "People who sign in". */
import { expect, test } from "vitest"
import { readConfig } from "./config.ts"

const SECRET = { RUNSEAL_OIDC_CLIENT_SECRET: "s" }
const read = (argv: readonly string[], env = {}) => {
  const config = readConfig(argv, env)
  if ("ended" in config) throw new Error("the options ask for help")
  return config
}
const ISSUER = ["--issuer", "https://id.example"]
const CLIENT = ["--oidc-client-id", "console"]
const BASE = ["--base-url", "https://seal.example/at/a/path"]
const ROLES = ["--oidc-roles", "treasury=approver, CN=x=auditor"]

test("the provider sends browsers back to the console at the public address", () => {
  expect(read([...ISSUER, ...CLIENT, ...BASE, ...ROLES], SECRET).signIn).toEqual({
    provider: { issuer: "https://id.example", personClaim: "sub", groupClaim: "groups" },
    clientId: "console",
    clientSecret: "s",
    roles: new Map([
      ["treasury", "approver"],
      ["CN=x", "auditor"],
    ]),
    scopes: "profile",
    redirectUri: "https://seal.example/console/callback",
  })
  expect(read(ISSUER, SECRET).signIn).toBeUndefined()
})

test.each<readonly [readonly string[], string]>([
  [[...CLIENT], "--oidc-client-id needs --issuer"],
  [[...ISSUER, ...CLIENT, ...BASE], "--oidc-client-id needs --oidc-roles"],
  [[...ISSUER, ...CLIENT, ...ROLES], "--oidc-client-id needs --base-url"],
  [[...ISSUER, ...CLIENT, ...ROLES, "--base-url", "http://seal.example"], "a --base-url of https"],
  [[...ISSUER, ...ROLES], "--oidc-roles needs --oidc-client-id"],
  [[...ISSUER, ...CLIENT, ...ROLES, ...BASE, "--end-user-audience", "console"], "must not be the client id"],
  ...["", "a", "a=", "=admin", "a=owner", "a=admin,a=auditor", "a=admin,", `${"a".repeat(257)}=admin`].map(
    roles => [[...ISSUER, ...CLIENT, ...BASE, "--oidc-roles", roles], "--oidc-roles must be 1 to 64 groups"] as const,
  ),
])("%j stops the start: %s", (argv, sentence) => {
  expect(() => read(argv, SECRET)).toThrow(sentence)
})

test("without the secret of the client the service does not start", () => {
  const all = [...ISSUER, ...CLIENT, ...BASE, ...ROLES]
  for (const env of [{}, { RUNSEAL_OIDC_CLIENT_SECRET: "" }])
    expect(() => read(all, env)).toThrow("--oidc-client-id needs RUNSEAL_OIDC_CLIENT_SECRET")
})

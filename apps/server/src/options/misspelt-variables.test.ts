/** A misspelt variable is named with the name that is nearest, and never with its value. */
import { expect, test } from "vitest"
import { misspeltVariables } from "./misspelt-variables.ts"

test.each([
  ["RUNSEAL_PROT", "RUNSEAL_PORT"],
  ["RUNSEAL_LOGLEVEL", "RUNSEAL_LOG_LEVEL"],
  ["RUNSEAL_DATABSE_URL", "RUNSEAL_DATABASE_URL"],
  ["RUNSEAL_DATABASE_URL_FIEL", "RUNSEAL_DATABASE_URL_FILE"],
  ["runseal_port", "RUNSEAL_PORT"],
  ["RUNSEALPORT", "RUNSEAL_PORT"],
])("%s is %s", (name, nearest) => {
  expect(misspeltVariables({ [name]: "geheim", PATH: "/bin" })).toEqual([
    `${name} is not read by the service: did you mean ${nearest}?`,
  ])
})

test("what the service or its clients read, and what is like none of it, has no warning", () => {
  const names = ["PORT", "HOST", "URL", "API_KEY", "TRUST_DIR", "DATABASE_URL_FILE", "SOURCE_REVISION"]
  const linked = ["SERVICE_HOST", "SERVICE_PORT", "PORT_8080_TCP", "PORT_8080_TCP_ADDR"]
  const env = Object.fromEntries([...names, ...linked].map(name => [`RUNSEAL_${name}`, "x"]))
  expect(misspeltVariables({ ...env, PRODUCT: "x", RUNSEA: "x" })).toEqual([])
})

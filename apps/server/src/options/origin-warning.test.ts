/** The default name of the log is for trials on one machine. */
import { expect, test } from "vitest"
import { originWarning, readConfig } from "./config.ts"

const warningFor = (...flags: readonly string[]): string | undefined => {
  const config = readConfig(flags, {})
  return "ended" in config ? undefined : originWarning(config)
}

test.each([
  ["on PostgreSQL", ["--database-url", "postgres://localhost/x"]],
  ["with an address for callers", ["--base-url", "https://runs.example"]],
  ["that other machines reach", ["--host", "0.0.0.0"]],
  ["that other machines reach over IPv6", ["--host", "::"]],
])("a start %s warns about the default name of the log, and not about another", (_name, flags) => {
  expect(warningFor(...flags)).toMatch(/^the log has the default name runseal\.local\b.*--log-origin/)
  expect(warningFor(...flags, "--log-origin", "log.example")).toBeUndefined()
})

test.each([["127.0.0.1"], ["localhost"], ["::1"]])("a trial on %s has no warning", host => {
  expect(warningFor("--host", host)).toBeUndefined()
})

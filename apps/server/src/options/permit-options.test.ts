/** `--permits`: on, unless a remote signer holds the service key. docs/operations.md. */
import { expect, test } from "vitest"
import { readConfig } from "./config.ts"

const permitsOf = (...argv: readonly string[]): boolean => {
  const config = readConfig(argv, {})
  if ("ended" in config) throw new Error("the options ask for help")
  return config.permits
}
const SIGNER = ["--signer-url", "https://kms.example/v1/keys/1"]

test("permits are opened unless the operator says otherwise, and never with a remote signer", () => {
  expect(permitsOf()).toBe(true)
  expect(permitsOf("--permits", "on")).toBe(true)
  expect(permitsOf("--permits", "off")).toBe(false)
  expect(permitsOf(...SIGNER)).toBe(false)
  expect(permitsOf("--permits", "off", ...SIGNER)).toBe(false)
  expect(() => permitsOf("--permits", "on", ...SIGNER)).toThrow(/--permits on cannot be used with --signer-url/)
})

test("closes and redemptions have a limit of their own: 600 a minute", () => {
  expect(readConfig([], {})).toMatchObject({ permitRateLimit: 600 })
  expect(readConfig(["--permit-rate-limit", "5"], {})).toMatchObject({ permitRateLimit: 5 })
})

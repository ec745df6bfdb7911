/** Addresses of PostgreSQL, of one server and of several. */
import { expect, test } from "vitest"
import { readConfig } from "./config.ts"
import { readServerAddress } from "./server-address.ts"

const hostsOf = (text: string): unknown => readServerAddress(text)?.hosts.map(({ hostname, port }) => [hostname, port])

test("an address has one host or several, each with a port", () => {
  expect(hostsOf("postgres://a/db")).toEqual([["a", 5432]])
  expect(hostsOf("postgresql://u:p@a:1,b:2,c/db")).toEqual([
    ["a", 1],
    ["b", 2],
    ["c", 5432],
  ])
  expect(hostsOf("postgres://u:p,q@[::1]:1,[fe80::2]/db")).toEqual([
    ["::1", 1],
    ["fe80::2", 5432],
  ])
})

test("each host has an address of its own, with user, database and options, and without the wish for a primary", () => {
  const address = readServerAddress("postgres://u:p%40q@a:1,b:2/db?sslmode=require&target_session_attrs=read-write")
  expect(address?.wanted).toBe("read-write")
  expect(address?.hosts.map(({ url }) => url)).toEqual([
    "postgres://u:p%40q@a:1/db?sslmode=require",
    "postgres://u:p%40q@b:2/db?sslmode=require",
  ])
})

test.each(["mysql://a/b", "postgres:a", "postgres://a:x,b/db", `postgres://${"a,".repeat(16)}a/db`, "a,b", ""])(
  "%j is none",
  text => {
    expect(readServerAddress(text)).toBeUndefined()
  },
)

test("the service needs a server that takes writes", () => {
  const read = (attributes: string) => () =>
    readConfig(["--database-url", `postgres://u:geheim@a:1,b:2/db?target_session_attrs=${attributes}`], {})
  for (const attributes of ["read-write", "primary"]) expect(read(attributes)).not.toThrow()
  for (const attributes of ["any", "standby", "prefer-standby", "read-only", "geheim"]) {
    expect(read(attributes)).toThrow(/--database-url must be .* target_session_attrs=read-write/)
    expect(read(attributes)).not.toThrow(/geheim/)
  }
})

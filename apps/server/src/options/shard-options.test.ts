/** Options of a deployment beside others. docs/scale.md, "Whole deployments side by side". */
import { expect, test } from "vitest"
import { readConfig } from "./config.ts"

const read = (argv: readonly string[]) => {
  const config = readConfig(argv, {})
  if ("ended" in config) throw new Error("the options ask for help")
  return config
}

test("prefix and other deployments are read", () => {
  const peers = [
    { name: "EU 1", origin: "https://eu1.example" },
    { name: "hier", origin: "http://127.0.0.1:8081" },
  ]
  const text = "EU 1=https://eu1.example/, hier=http://127.0.0.1:8081"
  expect(read(["--key-prefix", "eu1", "--peers", text])).toMatchObject({ keyPrefix: "eu1", peers })
  expect(read([])).toMatchObject({ keyPrefix: undefined, peers: undefined })
  const most = Array.from({ length: 16 }, (_, i) => `n${i}=https://n${i}.example`)
  expect(read(["--peers", most.join()]).peers).toHaveLength(16)
  expect(() => read(["--peers", [...most, "more=https://more.example"].join()])).toThrow("1 to 16 deployments")
})

test.each(["", "EU1", "eu_1", "eu-1", "a".repeat(17), "é", "eu1\n"])("the prefix %j stops the start", prefix => {
  const sentence = "--key-prefix must be 1 to 16 lower-case letters and digits"
  expect(() => read(["--key-prefix", prefix])).toThrow(sentence)
})

test.each([
  "",
  "EU",
  "=https://eu.example",
  "EU=",
  "EU=eu.example",
  "EU=http://eu.example",
  "EU=javascript:alert(1)",
  "EU=https://a:b@eu.example",
  "EU=https://eu.example/console",
  "EU=https://eu.example?a",
  "EU=https://eu.example,",
  "EU=https://eu.example,EU=https://us.example",
  "EU=https://eu.example,US=https://eu.example",
  `${"a".repeat(33)}=https://eu.example`,
  "E\u202eU=https://eu.example",
  "<b>=https://eu.example",
])("the other deployments %j stop the start", text => {
  expect(() => read(["--peers", text])).toThrow("--peers must be 1 to 16 deployments, each once, as name=address")
})

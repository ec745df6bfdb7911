/** `--config FILE`: the options in YAML, by the names of their flags. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { readConfig } from "./config.ts"
import { StartupError } from "./startup-error.ts"

const folder = testFolder("runseal-config")
const path = join(folder, "runseal.yaml")
const written = (text: string): readonly string[] => {
  writeFileSync(path, text)
  return ["--config", path]
}
const read = (text: string, ...flags: readonly string[]) => readConfig([...written(text), ...flags], process.env)

const VARIABLES = ["RUNSEAL_PORT", "RUNSEAL_CONFIG"] as const
afterEach(() => {
  for (const name of VARIABLES) delete process.env[name]
})

test("gives options by the names of their flags", () => {
  const text = "# the service\nport: 9090\nlog-origin: log.example\nregion: no\nrekor-in-flight: '4'\nanchor: rekor\n"
  expect(read(text)).toMatchObject({ port: 9090, logOrigin: "log.example", region: "no", rekor: { inFlight: 4 } })
})

test("an option that may be repeated is a list", () => {
  const vkey = "witness.example/w1+9efa8d9a+BHn4"
  expect(() => read(`witness:\n  - ${vkey}=https://w.example/\n  - ${vkey}=https://w.example/\n`)).toThrow(
    /^witness in .*runseal\.yaml must be the cosignature key of a witness/,
  )
})

test("flags override variables, which override the file, which overrides the defaults", () => {
  const text = "port: 1111\nhost: 0.0.0.0\n"
  expect(read(text)).toMatchObject({ port: 1111, host: "0.0.0.0", rateLimit: 100 })
  process.env.RUNSEAL_PORT = "2222"
  expect(read(text)).toMatchObject({ port: 2222, host: "0.0.0.0" })
  expect(read(text, "--port", "3333")).toMatchObject({ port: 3333, host: "0.0.0.0" })
})

test("its path may be in RUNSEAL_CONFIG", () => {
  written("port: 4444")
  process.env.RUNSEAL_CONFIG = path
  expect(readConfig([], process.env)).toMatchObject({ port: 4444 })
})

test("an empty file gives no option", () => {
  expect(read("# nothing\n")).toMatchObject({ port: 8080 })
})

describe("is refused, with an error that quotes no value:", () => {
  test.each([
    [
      "an unknown name",
      "prot: 8080",
      /runseal\.yaml: unknown option prot; the options are host, port, data-dir, .*access-log$/,
    ],
    [
      "an unknown name that may be a secret",
      "'geheim geheim': x",
      /runseal\.yaml: an unknown option; the options are host/,
    ],
    ["an action", "mint-admin-key: ops", /unknown option mint-admin-key/],
    ["another file", "config: other.yaml", /unknown option config/],
    ["a value that is none", "port: geheim", /^port in .*runseal\.yaml must be an integer from 0 to 65535$/],
    ["a choice that is none", "aivp: geheim", /^aivp in .*runseal\.yaml must be/],
    ["a list for an option that takes one value", "port: [1, 2]", /runseal\.yaml: port must be one value$/],
    ["a mapping for a value", "port: {geheim: 1}", /runseal\.yaml: port must be one value$/],
    ["an option without a value", "port:", /^port in .*runseal\.yaml must be an integer/],
    ["a list of options", "- port", /runseal\.yaml must be a mapping of options to values$/],
    ["a sentence", "geheim", /runseal\.yaml must be a mapping/],
    ["a name twice", "port: 1\nport: 2", /runseal\.yaml is not valid YAML: line 2$/],
    ["what is no YAML", 'port: 1\nhost: "geheim', /runseal\.yaml is not valid YAML: line \d$/],
    ["an alias", "host: &a x\nregion: *a", /runseal\.yaml: .*aliases/],
    ["two documents", "port: 1\n---\nport: 2", /runseal\.yaml is not valid YAML/],
    ["a tag", "port: !geheim 1", /runseal\.yaml is not valid YAML: line 1$/],
    ["a file too large", `# ${"x".repeat(70_000)}`, /has more than 65536 bytes$/],
  ])("%s", (_name, text, sentence) => {
    expect(() => read(text)).toThrow(StartupError)
    expect(() => read(text)).toThrow(sentence)
    expect(() => read(text)).not.toThrow(/geheim/)
  })

  test("a file that is not there", () => {
    expect(() => readConfig(["--config", join(folder, "none.yaml")], process.env)).toThrow(/none\.yaml cannot be read$/)
  })
})

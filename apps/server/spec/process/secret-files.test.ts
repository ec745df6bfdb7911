/** Secrets by file: `RUNSEAL_DATABASE_URL_FILE` and `RUNSEAL_AIVP_API_KEY_FILE`. docs/operations.md, "Secrets". */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { readSecretFiles, SECRET_VARIABLES } from "../../src/options/secrets.ts"
import { runToEnd } from "../harness/child.ts"

const folder = testFolder("runseal-secrets")
const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

describe.each(SECRET_VARIABLES)("%s_FILE", name => {
  test.each([
    ["as it stands", "s3cret", "s3cret"],
    ["without its final line break", "s3cret\n", "s3cret"],
    ["without a final line break of Windows", "s3cret\r\n", "s3cret"],
    ["with all other white space", " s3\ncret \n", " s3\ncret "],
  ])("gives what the file holds, %s", (_, text, expected) => {
    const env = { [`${name}_FILE`]: file("secret", text) }
    readSecretFiles(env)
    expect(env).toMatchObject({ [name]: expected })
  })

  test("is refused beside the variable itself", () => {
    const env = { [name]: "s3cret", [`${name}_FILE`]: file("secret", "other") }
    expect(() => readSecretFiles(env)).toThrow(`${name} and ${name}_FILE are both given; give one of them`)
  })

  test("stands beside a variable that is empty, as containers hand over one that nobody set", () => {
    const env = { [name]: "", [`${name}_FILE`]: file("secret", "s3cret") }
    readSecretFiles(env)
    expect(env).toMatchObject({ [name]: "s3cret" })
  })

  test.each([
    ["cannot be read", join(folder, "absent")],
    ["cannot be read", folder],
    ["is empty", file("empty", "\n")],
    ["holds more than 4096 bytes", file("large", "a".repeat(4097))],
  ])("is refused when the file %s", (problem, path) => {
    expect(() => readSecretFiles({ [`${name}_FILE`]: path })).toThrow(`the file that ${name}_FILE names ${problem}`)
  })

  test("is nothing when it is empty", () => {
    const env = { [`${name}_FILE`]: "" }
    readSecretFiles(env)
    expect(env).toEqual({ [`${name}_FILE`]: "" })
  })
})

test("a server takes its database's address from the file and says nothing of it when that address does not serve", async () => {
  const path = file("database-url", "postgres://runseal:s3cret@127.0.0.1:1/runseal\n")
  const options = ["--port", "0", "--data-dir", join(folder, "data")]
  const { code, stdout, stderr } = await runToEnd(options, { RUNSEAL_DATABASE_URL_FILE: path })
  expect(code).toBe(1)
  expect(stderr).toBe("runseal: PostgreSQL at 127.0.0.1:1 could not be reached (ECONNREFUSED).\n")
  expect(`${stdout}${stderr}`).not.toContain("s3cret")
})

test("a server refuses a file that is not there in one sentence", async () => {
  const path = join(folder, "absent")
  expect(await runToEnd(["--port", "0"], { RUNSEAL_DATABASE_URL_FILE: path })).toEqual({
    code: 1,
    stdout: "",
    stderr: "runseal: the file that RUNSEAL_DATABASE_URL_FILE names cannot be read\n",
  })
})

/** The completion scripts in the shells that read them. A shell that is not installed is named, and its tests are skipped. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { isThere } from "../../src/read-input.ts"

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
const isInstalled = (program: string): boolean =>
  (process.env.PATH ?? "").split(delimiter).some(folder => isThere(join(folder, program)))

const folder = testFolder("runseal-completion")
beforeAll(() => {
  for (const shell of ["bash", "zsh", "fish"])
    writeFileSync(join(folder, shell), execFileSync(process.execPath, [MAIN, "completion", shell]))
})

/** What is typed after `verifier`, and what the only completion makes of it. */
const TYPED: readonly (readonly [typed: string, completed: string])[] = [
  ["log audit --qu", "--quick"],
  ["ok.json --not", "--not-before"],
  ["ok.json --trust trust.json --max", "--max-age"],
  ["expo", "export"],
  ["export ok.json --sig", "--sigstore"],
  ["trust rem", "remove"],
  ["trust add --rep", "--replace"],
  ["completion zs", "zsh"],
  ["withhold ok.json --section caus", "causal_graph"],
]

const missing = (...programs: readonly string[]): string =>
  programs
    .filter(program => !isInstalled(program))
    .map(program => `${program} is not installed`)
    .join(", ")

describe("bash", () => {
  test.each(TYPED)("%s", (typed, completed) => {
    const words = `verifier ${typed}`.split(" ")
    const script = `source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _verifier; echo "\${COMPREPLY[@]}"`
    const printed = execFileSync("bash", ["-c", script, "bash", ...words], { cwd: folder })
    expect(`${printed}`).toBe(`${completed}\n`)
  })
})

const noFish = missing("fish")
describe.skipIf(noFish !== "")(`fish ${noFish}`, () => {
  test.each(TYPED)("%s", (typed, completed) => {
    const env = { ...process.env, HOME: folder }
    const script = `source ./fish; complete -C 'verifier ${typed}'`
    const printed = `${execFileSync("fish", ["--no-config", "-c", script], { cwd: folder, env })}`
    expect(printed.split("\n").map(line => line.split("\t")[0])).toEqual([completed, ""])
  })
})

const noZsh = missing("zsh", "script")
describe.skipIf(noZsh !== "")(`zsh, which completes at a terminal only ${noZsh}`, () => {
  let shell: ChildProcess
  let printed = ""
  const printedOnce = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const [, found] = pattern.exec(printed) ?? []
      if (found !== undefined) return found
      await sleep(20)
    }
  }
  beforeAll(async () => {
    shell = spawn("script", ["-qec", "zsh -f -i", "/dev/null"], { cwd: folder, env: { ...process.env, HOME: folder } })
    shell.stdout?.on("data", (part: Buffer) => {
      printed += part.toString()
    })
    shell.stdin?.write(
      `autoload -U compinit && compinit -u -D; source ./zsh; verifier() { print -r -- "ran"": $*;" }; print -r -- "is"": ready;"\n`,
    )
    await printedOnce(/(is: ready;)/)
  })
  afterAll(() => void shell.stdin?.end("exit\n"))

  test.each(TYPED)("%s", async (typed, completed) => {
    printed = ""
    const end = typed.slice(0, typed.lastIndexOf(" ") + 1)
    shell.stdin?.write(`verifier ${typed}\t`)
    // The line editor shows what it completed.
    await printedOnce(/(verifier [^\r\n]*)/)
    await sleep(300)
    shell.stdin?.write("\n")
    expect((await printedOnce(/ran: ([^;]*);/)).trim()).toBe(`${end}${completed}`)
  })
})

import { spawnSync } from "node:child_process"
import { expect, test } from "vitest"

const PROBE = new URL("probe.ts", import.meta.url).href
const COUNTER = new URL("text-counter.ts", import.meta.url).href

test("every canonical text of a process is counted, however it is asked for", () => {
  const program = `
    import { canonicalize, canonicalUtf8, digest, writtenTexts } from "@runseal/canonical"
    import { counted } from ${JSON.stringify(PROBE)}
    const texts = writtenTexts()
    const object = { b: 1 }
    texts.write(object)
    texts.write(object)
    texts.seal({ c: 2 })
    console.log(canonicalize({ a: "é" }), Buffer.from(canonicalUtf8({})).toString(), digest([]).length, JSON.stringify(counted))
    process.exit()`
  const { stdout, stderr } = spawnSync(process.execPath, ["--import", COUNTER, "--input-type=module", "-e", program], {
    encoding: "utf8",
    cwd: new URL(".", import.meta.url).pathname,
  })
  // {"b":1} and {"c":2} of 7 bytes, {"a":"é"} of 10, {} and [] of 2; what was written before is not written again.
  expect(stderr).toBe("")
  expect(stdout).toBe('{"a":"é"} {} 64 {"count":5,"bytes":28}\n')
})

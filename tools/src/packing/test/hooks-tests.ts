/** The packed hooks, installed and used where there is nothing else. */
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { type EmptyFolder, node22 } from "./empty-folder.ts"

const SLOW_MS = 300_000

/** @param url of a service that is open to everybody */
export function hooksTests(
  empty: (node?: string) => EmptyFolder,
  packedFile: (name: string) => string,
  url: () => string,
): void {
  test("the command that is written into the settings decides a call", () => decideOn("this Node"), SLOW_MS)
  test.skipIf(node22 === undefined).each([["Node 22", node22]])("on %s (RUNSEAL_NODE_22)", decideOn, SLOW_MS)

  async function decideOn(_name: string, node?: string): Promise<void> {
    const folder = empty(node)
    await folder.install(packedFile("@runseal/hooks"))
    mkdirSync(join(folder.path, "project"))
    const install = `cd project && ../node_modules/.bin/runseal-hooks install --for codex --scope project --url ${url()}`
    expect(await folder.run("/bin/sh", "-c", install)).toMatchObject({ code: 0 })
    const { hooks } = JSON.parse(readFileSync(join(folder.path, "project/.codex/hooks.json"), "utf8"))
    const [{ command }] = hooks.PreToolUse[0].hooks
    const call = { session_id: "s", tool_name: "Bash", tool_use_id: crypto.randomUUID(), tool_input: { command: "ls" } }
    folder.write("event", JSON.stringify({ hook_event_name: "PreToolUse", ...call }))
    // In a folder and with a PATH that the package does not know.
    const ran = await folder.run("/bin/sh", "-c", `cd / && PATH= ${command} < '${folder.path}/event'`)
    expect(ran).toEqual({ code: 0, stdout: "{}", stderr: "" })
    const { permits } = Object(await (await fetch(`${url()}/permits?state=open`)).json())
    expect(permits[0]).toMatchObject({ route_id: "codex/Bash" })
  }
}

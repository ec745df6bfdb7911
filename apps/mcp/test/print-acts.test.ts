/** docs/doors/mcp.md, "Start": act tables for the tools of real servers load, and the gateway's calls are read by them. */
import { execFileSync, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { afterAll, expect, test } from "vitest"
import { EVERYTHING, FILESYSTEM, newFolder, startAgent, startService } from "./gateway-fixture.ts"

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const GATEWAY = pathOf("../bin/runseal-mcp.js")
const SERVICE = pathOf("../../server/bin/runseal-server.js")
const folder = newFolder()
afterAll(folder.remove)

type Act = {
  readonly name: string
  readonly routes: readonly string[]
  readonly names: Readonly<Record<string, object>>
}

function printed(name: string, ...command: readonly string[]): readonly Act[] {
  const words = [GATEWAY, "--print-acts", "--name", name, "--", process.execPath, ...command]
  return JSON.parse(execFileSync(process.execPath, words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }))
    .acts
}
const POLICY = { policy_id: "printed", policy_name: "Printed", required_attested_fields: [] }
const policyFile = (acts: readonly Act[], rules: readonly object[]): string =>
  folder.file("policy.json", JSON.stringify({ ...POLICY, acts, rules }))

test.each([
  ["files", [FILESYSTEM, folder.path], "mcp/files/read_text_file", ["path", "tail", "head"]],
  ["all", [EVERYTHING], "mcp/all/get-annotated-message", ["message_type", "include_image"]],
] as const)("the tables of the server %s load, and a payload of each is found", (name, command, route, names) => {
  const acts = printed(name, ...command)
  expect(Object.keys(acts.find(({ routes }) => routes.includes(route))?.names ?? {})).toEqual(names)
  const rules = acts.map((act, at) => ({ id: `act-${at}`, effect: "allow", act: act.name }))
  const words = [SERVICE, "policy", "check", policyFile(acts, rules)]
  const checked = execFileSync(process.execPath, words, { encoding: "utf8" })
  const tried = checked.split("\n").filter(line => line.includes("with the least payload of"))
  expect(tried).toHaveLength(acts.length)
  expect(tried.filter(line => !line.includes("admitted by act-"))).toEqual([])
})

test("a tool that no table of a policy can read has none", () => {
  const definition = folder.file("definition.txt", "long ".repeat(128))
  const server = pathOf("./changing-server.mjs")
  const words = [GATEWAY, "--print-acts", "--name", "long", "--", process.execPath, server, definition, "calls.txt"]
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" })
  expect(JSON.parse(stdout)).toEqual({ acts: [] })
  expect(stderr).toContain('"act" has no table')
})

test("a rule over a printed table decides the gateway's calls", async () => {
  const file = folder.file("note.txt", "hello")
  const when = `context.act.path like "${folder.path}/*" && !(context.act.path like "*..*")`
  const acts = printed("files", FILESYSTEM, folder.path)
  const policy = policyFile(acts, [
    { id: "read", effect: "allow", act: "read_text_file", when },
    { id: "tools", effect: "allow", routes: ["mcp/files"] },
  ])
  const service = await startService(`${folder.path}/service`, "--policy", policy)
  const words = ["--data-dir", `${folder.path}/gateway`, "--name", "files", "--pin", "mark"]
  const agent = await startAgent([...words, "--", process.execPath, FILESYSTEM, folder.path], {
    RUNSEAL_URL: service.url,
  })
  const read = async (args: Record<string, unknown>): Promise<string> =>
    JSON.stringify((await agent.client.callTool({ name: "read_text_file", arguments: args })).content)
  expect(await read({ path: file })).toContain("hello")
  expect(await read({ path: "/etc/hostname" })).toContain("no rule of the policy allows it")
  expect(await read({ path: file, encoding: "utf8" })).toContain("is not as the act table of the policy says")
  expect(await read({ path: file, Path: "/etc/hostname" })).toContain("is not as the act table of the policy says")
  await agent.close()
  await service.stop()
})

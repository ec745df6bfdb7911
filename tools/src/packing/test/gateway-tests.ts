/** The packed gateway, installed and used where there is nothing else. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ROOT } from "../../supply-chain/lockfile.ts"
import { type EmptyFolder, node20, node22 } from "./empty-folder.ts"

const SLOW_MS = 300_000

export function gatewayTests(empty: (node?: string) => EmptyFolder, packedFile: (name: string) => string): void {
  const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"act","arguments":{}}}\n'
  const GATEWAY = "node_modules/.bin/runseal-mcp --data-dir data -- node server.mjs definition calls"

  async function folderWithGateway(node?: string): Promise<EmptyFolder> {
    const folder = empty(node)
    await folder.install(packedFile("@runseal/mcp"))
    folder.write("messages", call)
    folder.write("server.mjs", readFileSync(join(ROOT, "apps/mcp/test/changing-server.mjs"), "utf8"))
    return folder
  }

  test.skipIf(node22 === undefined).each([["Node 22", node22]])("on %s (RUNSEAL_NODE_22)", callOn, SLOW_MS)
  test("starts the published service, makes a tool call and gives its receipt", () => callOn("this Node"), SLOW_MS)

  async function callOn(_name: string, node?: string): Promise<void> {
    const folder = await folderWithGateway(node)
    const input = "cat messages; until grep -q receipt answers 2>/dev/null; do sleep 0.1; done"
    const { code, stderr } = await folder.run("/bin/sh", "-c", `(${input}) | ${GATEWAY} > answers`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("1 sealed as completed") })
    // The first run is the review of what the server says of itself.
    expect(readFileSync(join(folder.path, "answers"), "utf8")).toContain('"dev.runseal/receipt":{"run_id":2,')
  }

  test.skipIf(node20 === undefined)(
    "says on a Node that is too old, in answer to the agent, which one it needs",
    async () => {
      const folder = await folderWithGateway()
      const { code, stdout } = await folder.run("/bin/sh", "-c", `'${node20}' ${GATEWAY} < messages`)
      expect(code).toBe(1)
      expect(JSON.parse(stdout)).toEqual({
        jsonrpc: "2.0",
        id: 1,
        error: {
          code: -32603,
          message: expect.stringMatching(/^Runseal: this is Node 20\.[\d.]+; the gateway needs Node 22\.18 or later$/),
        },
      })
    },
  )
}

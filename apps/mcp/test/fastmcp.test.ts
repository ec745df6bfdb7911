/** A fastmcp server and the Python client. Skipped without RUNSEAL_MCP_PYTHON, a Python that has fastmcp: `pip install fastmcp`. */
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { countedRecords, gatewayWords, newFolder, PYTHON, run, startService } from "./gateway-fixture.ts"

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

test.skipIf(PYTHON === undefined)(
  "fastmcp behind the gateway, the Python client before it (RUNSEAL_MCP_PYTHON)",
  async () => {
    const folder = newFolder()
    const service = await startService(`${folder.path}/records`)
    const gateway = gatewayWords(
      "--data-dir",
      folder.path,
      "--name",
      "python",
      "--",
      PYTHON ?? "",
      pathOf("fastmcp_server.py"),
    )
    const client = run([PYTHON ?? "", pathOf("python_client.py"), ...gateway], {
      ...process.env,
      RUNSEAL_URL: service.url,
    })
    expect(await client.ended, client.output()).toBe(0)
    const results = client
      .output()
      .split("\n")
      .filter(line => line.startsWith('{"'))
      .map(line => JSON.parse(line))
    expect(results).toMatchObject([
      { isError: false, structuredContent: { result: 3 }, _meta: { "dev.runseal/receipt": { outcome: "ok" } } },
      { isError: true, content: [{ text: expect.stringContaining("it does not work") }] },
      { isError: true, content: [{ text: expect.stringContaining("withheld, by MCD-") }] },
    ])
    expect(await countedRecords(service.runseal)).toEqual({ ok: 1, failed: 1, pepg_deny: 1 })
    await service.stop()
    folder.remove()
  },
)

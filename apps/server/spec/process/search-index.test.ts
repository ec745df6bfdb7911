/** docs/operations.md, "Clearing the search index": the command, on the database of a stopped server. */
import { join } from "node:path"
import { expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Child, runToEnd, startChild } from "../harness/child.ts"
import { caller } from "../harness/key-holders.ts"
import { numberAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"

const folder = testFolder("runseal-index")
const options = ["--data-dir", join(folder, "data")]

const over = ({ url }: Child) => caller({ request: (path, init) => fetch(url + path, init) })
const found = async (server: Child, query: string): Promise<number> =>
  numberAt((await over(server).get(`/runs/search?${query}`)).body, "total")

test("search-index clear deletes what is indexed of declared sections, and nothing of the record", async () => {
  let server = await startChild(options)
  try {
    const declared = { attested_context: { attested: true, actor_id: "ada", model_name: "model-a" } }
    expect((await over(server).execute(request(declared))).status).toBe(200)
    expect(await found(server, "actor_id=ada")).toBe(1)
    const bundle = (await over(server).get("/runs/1/artifacts")).text
    await server.end("SIGTERM")

    const early = await runToEnd([...options, "search-index", "clear", "--before", "2026-01-01T00:00:00Z", "--json"])
    expect(early.stderr).toBe("")
    expect(JSON.parse(early.stdout)).toEqual({ cleared: 0, remaining: 2 })
    const other = await runToEnd([...options, "search-index", "clear", "--key", "7", "--json"])
    expect(JSON.parse(other.stdout)).toEqual({ cleared: 0, remaining: 0 })
    const all = await runToEnd([...options, "search-index", "clear"])
    expect(all).toMatchObject({
      code: 0,
      stdout: "2 entries of declared sections were deleted from the search index; 0 remain.\n",
    })

    server = await startChild(options)
    expect(await found(server, "actor_id=ada")).toBe(0)
    expect(await found(server, "route_id=payments%2Fapprove")).toBe(1)
    expect((await over(server).get("/runs/1/artifacts")).text).toBe(bundle)
  } finally {
    await server.end("SIGTERM")
  }
})

test.each([
  ["--before", "yesterday"],
  ["--key", "acme"],
])("%s %s is refused with one sentence", async (name, value) => {
  const { code, stderr } = await runToEnd([...options, "search-index", "clear", name, value])
  expect(code).not.toBe(0)
  expect(stderr).toMatch(new RegExp(`^runseal: [^\\n]*${name} must be [^\\n]*\\n$`))
})

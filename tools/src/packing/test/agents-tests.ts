/** The packed doors for JavaScript, set up as their pages say, where there is nothing else. */
import { once } from "node:events"
import { copyFileSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ROOT } from "../../supply-chain/lockfile.ts"
import { type EmptyFolder, node22 } from "./empty-folder.ts"

const SLOW_MS = 300_000
/** The page, whose name is that of the door, and the program that it starts. */
const PAGES: readonly (readonly [page: string, example: string])[] = [
  ["ai-sdk", "ai-sdk-agent"],
  ["langchain", "langchain-agent"],
  ["openai-agents", "openai-agent"],
]

/** @param runs routes of all runs of the service, newest first */
export function agentsTests(
  empty: (node?: string) => EmptyFolder,
  packedFile: (name: string) => string,
  url: () => string,
  runs: () => Promise<readonly string[]>,
): void {
  test.each(PAGES)("the page of %s works as it is written", (page, example) => startOf(page, example), SLOW_MS)
  test.skipIf(node22 === undefined).each(PAGES)(
    "the page of %s works as it is written on Node 22 (RUNSEAL_NODE_22)",
    (page, example) => startOf(page, example, node22),
    SLOW_MS,
  )

  async function startOf(page: string, example: string, node?: string): Promise<void> {
    const text = readFileSync(join(ROOT, `docs/doors/${page}.md`), "utf8")
    const install = /^npm install (.*)$/m.exec(text)?.[1]?.split(" ") ?? []
    const [, program = "", question = ""] = /^node (\S+) "(.*)"$/m.exec(text) ?? []
    expect(install.length).toBeGreaterThan(2)
    const folder = empty(node)
    const files = install.map(name => (name.endsWith(".tgz") ? packedNamed(name) : name))
    await folder.install(...files)
    copyFileSync(join(ROOT, `examples/${example}/main.ts`), join(folder.path, program))
    const model = await weatherModel()
    try {
      const before = (await runs()).length
      const settings = [`RUNSEAL_URL=${url()}`, `MODEL_URL=${model.url}`, "MODEL=scripted"]
      const ran = await folder.run("env", ...settings, "node", program, question)
      expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("21 degrees.") })
      const made = (await runs()).toReversed().slice(before)
      const route = `agents/${page}`
      expect(made).toEqual([`${route}/model/scripted`, `${route}/weather`, `${route}/model/scripted`])
    } finally {
      model.stop()
    }
  }

  const packedNamed = (name: string): string => packedFile(`@runseal/${/^\.\/runseal-([a-z]+)-/.exec(name)?.[1]}`)
}

/** The chat API of OpenAI: it asks for the tool once, and answers when it has the result. */
async function weatherModel(): Promise<{ readonly url: string; readonly stop: () => void }> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(Buffer.from(part))
    const { messages }: { readonly messages: readonly { readonly role: string }[] } = JSON.parse(
      Buffer.concat(parts).toString(),
    )
    const isLast = messages.at(-1)?.role === "tool"
    const asked = { name: "weather", arguments: '{"city":"Ghent"}' }
    const calls = { tool_calls: [{ id: "call_1", type: "function", function: asked }] }
    const message = { role: "assistant", content: isLast ? "21 degrees." : null, ...(isLast ? {} : calls) }
    const choices = [{ index: 0, message, finish_reason: isLast ? "stop" : "tool_calls" }]
    const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }
    const answer = {
      id: `chat-${messages.length}`,
      object: "chat.completion",
      created: 1,
      model: "scripted",
      choices,
      usage,
    }
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer))
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("The model has no port.")
  return { url: `http://127.0.0.1:${address.port}/v1`, stop: () => void server.close().closeAllConnections() }
}

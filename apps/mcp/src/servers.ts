/** Which server is wrapped: from the command line, or an entry of a configuration file in the `mcpServers` shape of MCP clients. */
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import * as v from "valibot"

const texts = v.record(v.string(), v.string())
const stdioSchema = v.object({
  command: v.pipe(v.string(), v.minLength(1)),
  args: v.exactOptional(v.array(v.string())),
  env: v.exactOptional(texts),
  cwd: v.exactOptional(v.string()),
})
const httpSchema = v.object({ url: v.pipe(v.string(), v.url()), headers: v.exactOptional(texts) })
const configSchema = v.object({ mcpServers: v.record(v.string(), v.union([stdioSchema, httpSchema])) })

export type StdioServer = v.InferOutput<typeof stdioSchema>
export type HttpServer = v.InferOutput<typeof httpSchema>
export type Server = { readonly name: string; readonly how: StdioServer | HttpServer }

/** A name is a part of a route and of an address. */
export const SERVER_NAME = /^[\w.-]{1,64}$/

/** @throws Error with a sentence for the user */
export function readServers(file: string): readonly Server[] {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), configSchema), readFileSync(file, "utf8"))
  if (!parsed.success) throw new Error(`${file} has no mcpServers, each with a command or a url`)
  return Object.entries(parsed.output.mcpServers).map(([name, how]) => {
    if (!SERVER_NAME.test(name))
      throw new Error(`a server's name in ${file} has characters besides letters, digits, . _ -`)
    return { name, how: "url" in how ? { ...how, headers: expanded(how.headers) } : { ...how, env: expanded(how.env) } }
  })
}

/** Values with `${NAME}` replaced by the variable of the environment, as MCP clients do. */
const expanded = (values: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value.replace(/\$\{(\w+)\}/g, (whole, variable: string) => process.env[variable] ?? whole),
    ]),
  )

/** Programs that start others. */
const RUNNERS = /^(?:npx|npm|exec|pnpm|yarn|dlx|bunx?|x|deno|run|node|uvx?|tool|pipx|python[\d.]*|docker|sh|env)$/

/** A name for a command: the first word that is neither a runner nor an option, without scope, version and extension. */
export function nameOfCommand(words: readonly string[]): string {
  const plain = words.map(word => basename(word)).filter(word => !word.startsWith("-") && !RUNNERS.test(word))
  const name = (plain[0] ?? words[0] ?? "server").replace(/(?<=.)@.*$/, "").replace(/\.(?:[cm]?[jt]s|py|exe)$/, "")
  return name.replace(/[^\w.-]/g, "-").slice(0, 64) || "server"
}

export const nameOfUrl = (url: string): string => new URL(url).host.replace(/[^\w.-]/g, "-").slice(0, 64)

/** Which server is wrapped: from the command line, or an entry of a configuration file in the `mcpServers` shape of MCP clients. */
import { basename } from "node:path"
import * as v from "valibot"
import { readText } from "./whole-files.ts"

/** Values with `${NAME}` replaced by the variable of the environment, as MCP clients do. */
const texts = v.record(
  v.string(),
  v.pipe(
    v.string(),
    v.transform(value => value.replace(/\$\{(\w+)\}/g, (whole, name: string) => process.env[name] ?? whole)),
  ),
)
const stdioSchema = v.object({
  command: v.pipe(v.string(), v.minLength(1)),
  args: v.exactOptional(v.array(v.string())),
  env: v.exactOptional(texts),
  cwd: v.exactOptional(v.string()),
})
export const httpSchema = v.object({
  url: v.pipe(v.string(), v.url(), v.regex(/^https?:/)),
  headers: v.exactOptional(texts),
})
/** A name is a part of a route and of an address. */
export const nameSchema = v.pipe(v.string(), v.regex(/^[\w.-]{1,64}$/))
const configSchema = v.object({ mcpServers: v.record(nameSchema, v.union([stdioSchema, httpSchema])) })

export type StdioServer = v.InferOutput<typeof stdioSchema>
export type HttpServer = v.InferOutput<typeof httpSchema>
export type Server = { readonly name: string; readonly how: StdioServer | HttpServer }

/** @throws Error with a sentence for the user */
export function readServers(file: string): readonly Server[] {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), configSchema), readText(file))
  if (!parsed.success)
    throw new Error(
      `${file} needs mcpServers, each with a command or an http address, under a name of 1 to 64 letters, digits, . _ -`,
    )
  return Object.entries(parsed.output.mcpServers).map(([name, how]) => ({ name, how }))
}

/** Programs that start others. */
const RUNNERS = /^(?:npx|npm|exec|pnpm|yarn|dlx|bunx?|x|deno|run|node|uvx?|tool|pipx|python[\d.]*|docker|sh|env)$/

/** A name for a command: the first word that is neither a runner nor an option, without scope, version and extension. */
export function nameOfCommand(words: readonly string[]): string {
  const plain = words.map(word => basename(word)).filter(word => !word.startsWith("-") && !RUNNERS.test(word))
  const name = (plain[0] ?? words[0] ?? "server").replace(/(?<=.)@.*$/, "").replace(/\.(?:[cm]?[jt]s|py|exe)$/, "")
  return name.replace(/[^\w.-]/g, "-").slice(0, 64) || "server"
}

export const nameOfUrl = (url: string): string => new URL(url).host.replace(/[^\w.-]/g, "-").slice(0, 64)

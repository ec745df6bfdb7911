/**
 * `npm run answers -- FILE`: writes what a new service answers to every example and to one request of each endpoint, with clock, randomness
 * and keys fixed, one line a request. The files of two commits are the same but for what the later one means to answer otherwise.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type JsonValue, parseStrictJson } from "@runseal/canonical"
import { isObject, member, textMember } from "@runseal/core/vocabulary/json-members"
import { createApp } from "@runseal/server/app"
import { boot, prepare } from "@runseal/server/boot"
import { readConfig } from "@runseal/server/options/config"
import { createLogger } from "@runseal/server/process-log"
import { openDatabase } from "@runseal/server/store/driver/database"
import { readText } from "../../../tools/src/rooms/repository-files.ts"
import { fixMachine } from "./fixed-machine.ts"

const USAGE = "Usage: npm run answers -- FILE\n"
/** The example of the OpenAPI document. */
const NO_PERMIT = "pmt-00000000000000000000000000000000"
/** Of the examples, and of the permit that is closed: some of each outcome. */
const OTHER_RUNS = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
/** How far the deliveries are, which happen beside the requests, and the signature of a permit's token, which a library makes. */
const NOT_FIXED = /(?<="failing_since":").*?(?=}]})|(?<="eyJ[\w-]+\.[\w-]+\.)[\w-]+/g
/** Every record names the commit that made it. */
const REVISION = "0".repeat(40)
/** Between two requests, in milliseconds. */
const STEP_MS = 1000
const METHODS = ["post", "get", "patch", "delete"] as const

const ADMIN = { name: "ops", scope: "admin", confirm_admin_scope: true }

type Call = { readonly method: string; readonly path: string; readonly body?: JsonValue }

process.env.RUNSEAL_SOURCE_REVISION = REVISION
const { nowMs, advance } = fixMachine()

async function record(folder: string): Promise<readonly string[]> {
  const config = readConfig(["--data-dir", folder, "--region", "eu-test-1"], {})
  if ("ended" in config) throw new Error("the options ask for help")
  const db = await openDatabase({ kind: "memory" })
  const logger = createLogger("error", { write: () => undefined })
  const { deps, close } = await boot({ config, prepared: prepare(config), db, logger, nowMs, uptimeMs: nowMs })
  try {
    const app = createApp(deps)
    const lines: string[] = []
    const call = async ({ method, path, body }: Call, secret?: string): Promise<string> => {
      advance(STEP_MS)
      const answer = await app.request(path, {
        method: method.toUpperCase(),
        headers: {
          ...(secret === undefined ? {} : { "X-Service-Key": secret }),
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = (await answer.text()).replaceAll(NOT_FIXED, "")
      lines.push(
        JSON.stringify([secret === undefined ? "" : "key", method, path, answer.status, [...answer.headers], text]),
      )
      return text
    }
    const openapi = parseStrictJson(await call({ method: "get", path: "/openapi.json" }))
    const made = parseStrictJson(await call({ method: "post", path: "/admin/keys", body: ADMIN }))
    const secret = textMember(made, "secret")
    for (const name of readdirSync("examples")
      .filter(file => file.endsWith(".json"))
      .toSorted())
      await call({ method: "post", path: "/execute", body: parseStrictJson(readText(`examples/${name}`)) }, secret)
    const permit = textMember(parseStrictJson(await call(permitOf(openapi), secret)), "permit_id") ?? ""
    const calls = METHODS.flatMap(method => callsOf(openapi, method))
    for (const one of calls.filter(({ path }) => path.includes(NO_PERMIT)))
      await call({ ...one, path: one.path.replace(NO_PERMIT, permit) }, secret)
    for (const { path } of calls.filter(({ method, path }) => method === "get" && path.startsWith("/runs/1")))
      for (const run of OTHER_RUNS) await call({ method: "get", path: path.replace("/runs/1", `/runs/${run}`) }, secret)
    for (const one of calls) await call(one, secret)
    for (const one of calls) await call(one)
    return lines
  } finally {
    await close()
    await db.close()
  }
}

function permitOf(openapi: JsonValue): Call {
  const found = callsOf(openapi, "post").find(({ path }) => path === "/permits")
  if (found === undefined) throw new Error("the OpenAPI document has no POST /permits")
  return found
}

/** One request of each endpoint of a method, with the examples of the OpenAPI document. */
function callsOf(openapi: JsonValue, method: string): readonly Call[] {
  const paths = member(openapi, "paths")
  return Object.entries(isObject(paths) ? paths : {}).flatMap(([template, methods]) => {
    const operation = member(methods, method)
    if (operation === undefined) return []
    const parameters = member(operation, "parameters")
    const examples = new Map(
      (Array.isArray(parameters) ? parameters : []).map(one => [textMember(one, "name") ?? "", member(one, "example")]),
    )
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(`${examples.get(name) ?? 1}`))
    const content = member(member(member(operation, "requestBody"), "content"), "application/json")
    const [named] = Object.values(member(content, "examples") ?? {})
    const body = member(content, "example") ?? member(named, "value") ?? (content === undefined ? undefined : {})
    return [{ method, path, ...(body === undefined ? {} : { body }) }]
  })
}

const [file] = process.argv.slice(2)
if (file === undefined || file.startsWith("-")) process.stdout.write(USAGE)
else {
  const folder = mkdtempSync(join(tmpdir(), "runseal-answers-"))
  try {
    const lines = await record(folder)
    writeFileSync(file, `${lines.join("\n")}\n`)
    process.stdout.write(`${lines.length} answers\n`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

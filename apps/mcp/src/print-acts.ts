/** `--print-acts`: asks a server for its tools, and prints act tables for them. Nothing is called, sealed or pinned. */

import { Client } from "@modelcontextprotocol/client"
import { type JsonObject, type JsonValue, parseStrictJson } from "@runseal/canonical"
import {
  type ActTable,
  actTableSchema,
  EVERY_ITEM,
  MAX_ACT_NAMES,
  MAX_ACT_TABLES,
  MAX_NAME_LENGTH,
  RESERVED_NAMES,
} from "@runseal/core/act/act-table"
import { isValueOf } from "@runseal/core/act/act-value"
import { decimalUnits } from "@runseal/core/act/decimal-text"
import * as v from "valibot"
import { connectHttpServer } from "./http-server.ts"
import { isObject } from "./json-rpc.ts"
import type { OtherUser } from "./other-user.ts"
import type { Server } from "./servers.ts"
import { startStdioServer } from "./stdio-server.ts"
import type { Upstream } from "./upstream.ts"

/** Milliseconds for each answer of the server, and pages of its list. */
const ANSWER_MS = 60_000
const PAGES_MAX = 100

/** @param say gets a sentence for each tool that has no table */
export async function printActs(server: Server, user: OtherUser | undefined, say: (sentence: string) => void) {
  const { acts, left_out } = actTables(server.name, await toolsOf(server, user))
  for (const name of left_out)
    say(`${JSON.stringify(name)} has no table: none can read its arguments, or there are ${MAX_ACT_TABLES} tables`)
  process.stdout.write(`${JSON.stringify({ acts }, null, 2)}\n`)
}

async function toolsOf({ how }: Server, user: OtherUser | undefined): Promise<readonly ListedTool[]> {
  const client = new Client({ name: "runseal-mcp", version: "1.0.0" })
  await client.connect(
    transportTo(receive => ("command" in how ? startStdioServer(how, receive, user) : connectHttpServer(how, receive))),
  )
  try {
    const tools: ListedTool[] = []
    let cursor: string | undefined
    for (let page = 0; page < PAGES_MAX; page++) {
      const listed = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: ANSWER_MS })
      for (const { name, inputSchema } of listed.tools) {
        const schema = parseStrictJson(JSON.stringify(inputSchema))
        if (isObject(schema)) tools.push({ name, inputSchema: schema })
      }
      cursor = listed.nextCursor
      if (cursor === undefined) break
    }
    return tools
  } finally {
    await client.close()
  }
}

type Transport = Parameters<Client["connect"]>[0]

/** A server of the gateway as the official client speaks to it. */
function transportTo(connect: (receive: (text: string) => void) => Upstream): Transport {
  let upstream: Upstream | undefined
  const transport: Transport = {
    start: async () => {
      upstream = connect(text => transport.onmessage?.(JSON.parse(text)))
      upstream.gone.then(() => transport.onclose?.()).catch(() => undefined)
    },
    send: async message => await upstream?.send(JSON.stringify(message)),
    close: async () => await upstream?.stop(),
  }
  return transport
}

// Act tables for the tools of a server, from their JSON schemas: a beginning for the author of a policy. A schema is the server's word; what
// it does not say, such as a bound, the author adds. docs/policy-and-review.md, "Act tables".

/** A tool as `tools/list` has it. */
type ListedTool = { readonly name: string; readonly inputSchema: JsonObject }

/** Objects in each other that are read. */
const DEPTH_MAX = 4
/** Code units of a count behind a name: there are at most as many names as tools in a list. */
const COUNT_MAX = 6

/** What a table has of one tool. `ignored`: members that no row can read. */
type Found = { readonly closed: string[]; readonly ignored: string[]; readonly names: Map<string, JsonObject> }

type PrintedActs = {
  readonly acts: readonly ActTable[]
  /** Tools without a table, by their name: more than a policy has room for, or nothing of them that a table can read. */
  readonly left_out: readonly string[]
}

/** @param server the configured name, which is part of the routes */
function actTables(server: string, tools: readonly ListedTool[]): PrintedActs {
  const taken = new Set<string>(["execute"])
  const acts: ActTable[] = []
  const left_out: string[] = []
  for (const { name, inputSchema } of tools) {
    const found: Found = { closed: [], ignored: [], names: new Map() }
    readObject("/arguments", inputSchema, [], true, found)
    const table = {
      name: nameOf([name], taken),
      routes: [`mcp/${server}/${name}`],
      closed: found.closed,
      ...(found.ignored.length === 0 ? {} : { ignored: found.ignored }),
      names: Object.fromEntries(found.names),
    }
    if (acts.length < MAX_ACT_TABLES && v.is(actTableSchema, table)) {
      taken.add(table.name)
      acts.push(table)
    } else left_out.push(name)
  }
  return { acts, left_out }
}

/** A name that a policy may have, made of a path and of no other name that is taken. */
function nameOf(path: readonly string[], taken: ReadonlySet<string>): string {
  const letters = path
    .join("_")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
  const whole = /^[a-z]/.test(letters) ? letters : `a_${letters}`
  let name = RESERVED_NAMES.has(whole) ? `${whole}_` : whole.slice(0, MAX_NAME_LENGTH)
  for (let count = 2; taken.has(name); count++) name = `${whole.slice(0, MAX_NAME_LENGTH - COUNT_MAX)}_${count}`
  return name
}

/** @param required whether every payload has the object */
function readObject(at: string, schema: JsonObject, path: readonly string[], required: boolean, found: Found): void {
  found.closed.push(at)
  const properties = isObject(schema.properties) ? schema.properties : {}
  const needed = Array.isArray(schema.required) ? schema.required : []
  for (const [member, value] of Object.entries(properties)) {
    const place = `${at}/${member.replaceAll("~", "~0").replaceAll("/", "~1")}`
    const always = required && needed.includes(member)
    const row = isObject(value) && isStep(member) ? rowOf(place, value) : undefined
    if (row !== undefined && found.names.size < MAX_ACT_NAMES) {
      const name = nameOf([...path, member], new Set(found.names.keys()))
      found.names.set(name, always ? row : { ...row, optional: true })
    } else if (isObject(value) && isStep(member) && isObject(value.properties) && path.length < DEPTH_MAX) {
      readObject(place, value, [...path, member], always, found)
    } else found.ignored.push(place)
  }
}

/** Pointers read these steps otherwise than as the name of a member. */
const isStep = (member: string): boolean => member !== EVERY_ITEM && !/^(?:-|\d+)$/.test(member)

/** The row that reads a value; undefined for one that no type of a table has. */
function rowOf(at: string, schema: JsonObject): JsonObject | undefined {
  switch (schema.type) {
    case "boolean":
      return { at, type: "boolean" }
    case "integer":
      return { at, type: "integer", ...boundsOf(schema) }
    case "number":
      return { at, type: "decimal", ...boundsOf(schema) }
    case "string":
      return { at, type: isAscii(schema.enum) ? "ascii" : "string" }
    case "array":
      return isObject(schema.items) && schema.items.type === "string" ? { at, type: "strings" } : undefined
    default:
      return undefined
  }
}

const isAscii = (values: JsonValue | undefined): boolean =>
  Array.isArray(values) && values.every(value => typeof value === "string" && isValueOf("ascii", value))

/** Bounds as a table writes them; one that it cannot write is left to the author. */
function boundsOf({ minimum, maximum }: JsonObject): JsonObject {
  const bound = (name: "min" | "max", value: JsonValue | undefined): JsonObject =>
    typeof value === "number" && decimalUnits(`${value}`) !== undefined ? { [name]: `${value}` } : {}
  return { ...bound("min", minimum), ...bound("max", maximum) }
}

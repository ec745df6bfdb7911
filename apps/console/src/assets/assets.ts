/** The assets as they are served: compressed, and under names that change with their bytes. */

import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { sha256Hex, utf8Encode } from "@runseal/canonical"
import type { Context } from "hono"
import { readAssets } from "#assets"
import { type AssetName, NAMED_ASSETS } from "./asset-names.ts"

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  woff2: "font/woff2",
}
/** Digits of the hash in a name. */
const HASH_DIGITS = 16
const A_YEAR = 31_536_000
/** Seconds for which a file may be used whose name stays when its bytes change. */
const FIVE_MINUTES = 300

type Asset = {
  readonly type: string
  readonly plain: Uint8Array<ArrayBuffer>
  /** Absent for what is compressed in itself. */
  readonly gzipped: Uint8Array<ArrayBuffer> | undefined
  readonly maxAge: string
}

type Assets = {
  /** Address of an asset. */
  readonly addressOf: (name: AssetName) => string
  /** The asset of a served name. */
  readonly files: ReadonlyMap<string, Asset>
}

const compress = promisify(gzip)

async function load(): Promise<Assets> {
  const servedNames = new Map<AssetName, string>()
  const files = new Map<string, Asset>()
  // The typeface comes first in the list, and style sheets name its files.
  for (const [name, content] of await readAssets()) {
    const [stem = "", extension = ""] = name.split(".")
    const bytes = typeof content === "string" ? utf8Encode(content) : content
    const plain = new Uint8Array(extension === "css" ? withServedNames(bytes, servedNames) : bytes)
    const served = `${stem}-${sha256Hex(plain).slice(0, HASH_DIGITS)}.${extension}`
    const gzipped = extension === "woff2" ? undefined : new Uint8Array(await compress(plain, { level: 9 }))
    const asset = { type: TYPES[extension] ?? "application/octet-stream", plain, gzipped }
    files.set(served, { ...asset, maxAge: `${A_YEAR}, immutable` })
    if (NAMED_ASSETS.includes(name)) files.set(name, { ...asset, maxAge: `${FIVE_MINUTES}` })
    servedNames.set(name, served)
  }
  return { addressOf: name => `/console/assets/${servedNames.get(name) ?? ""}`, files }
}

/** A style sheet with the files that it names under the names by which they are served. */
function withServedNames(bytes: Uint8Array, servedNames: ReadonlyMap<AssetName, string>): Uint8Array {
  let sheet = Buffer.from(bytes).toString("utf8")
  for (const [name, served] of servedNames) sheet = sheet.replaceAll(name, served)
  return utf8Encode(sheet)
}

let loading: Promise<Assets> | undefined

/** Loaded by the first request; requests meanwhile wait for the same load, and a failure is not cached. */
export function consoleAssets(): Promise<Assets> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}

/** Sends an asset; undefined for a name that there is none of. */
export async function sendAsset(c: Context, name: string): Promise<Response | undefined> {
  const asset = (await consoleAssets()).files.get(name)
  if (asset === undefined) return undefined
  const headers = {
    "Content-Type": asset.type,
    "Cache-Control": `public, max-age=${asset.maxAge}`,
    Vary: "Accept-Encoding",
  }
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(c.req.header("Accept-Encoding") ?? "")
  return takesGzip && asset.gzipped !== undefined
    ? c.body(asset.gzipped, 200, { ...headers, "Content-Encoding": "gzip" })
    : c.body(asset.plain, 200, headers)
}

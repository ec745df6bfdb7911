/** The assets as they are served: compressed, and under names that change with their bytes. */

import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { sha256Hex, utf8Encode } from "@runseal/canonical"
import type { Context } from "hono"
import { readAssets } from "#assets"
import type { AssetName } from "./asset-names.ts"

const TYPES: Readonly<Record<string, string>> = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8" }
/** Digits of the hash in a name. */
const HASH_DIGITS = 16
const A_YEAR = 31_536_000

type Asset = {
  readonly type: string
  readonly plain: Uint8Array<ArrayBuffer>
  readonly gzipped: Uint8Array<ArrayBuffer>
}

type Assets = {
  /** Address of an asset. */
  readonly addressOf: (name: AssetName) => string
  /** The asset of a served name. */
  readonly files: ReadonlyMap<string, Asset>
}

const compress = promisify(gzip)

async function load(): Promise<Assets> {
  const addresses = new Map<AssetName, string>()
  const files = new Map<string, Asset>()
  for (const [name, text] of await readAssets()) {
    const plain = new Uint8Array(utf8Encode(text))
    const [stem = "", extension = ""] = name.split(".")
    const served = `${stem}-${sha256Hex(plain).slice(0, HASH_DIGITS)}.${extension}`
    const gzipped = new Uint8Array(await compress(plain, { level: 9 }))
    files.set(served, { type: TYPES[extension] ?? "application/octet-stream", plain, gzipped })
    addresses.set(name, `/console/assets/${served}`)
  }
  return { addressOf: name => addresses.get(name) ?? "", files }
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
    "Cache-Control": `public, max-age=${A_YEAR}, immutable`,
    Vary: "Accept-Encoding",
  }
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(c.req.header("Accept-Encoding") ?? "")
  return takesGzip
    ? c.body(asset.gzipped, 200, { ...headers, "Content-Encoding": "gzip" })
    : c.body(asset.plain, 200, headers)
}

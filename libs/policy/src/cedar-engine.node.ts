/** The Cedar engine, loaded and compiled when a policy with conditions first needs it. */
import { createRequire } from "node:module"

type Cedar = typeof import("@cedar-policy/cedar-wasm/nodejs")

const require = createRequire(import.meta.url)
let loaded: Cedar | undefined

export function cedar(): Cedar {
  loaded ??= load()
  return loaded
}

const load = (): Cedar => require("@cedar-policy/cedar-wasm/nodejs")

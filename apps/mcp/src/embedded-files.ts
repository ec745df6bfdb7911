/** Files of the embedded service in the data folder. */
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as v from "valibot"

const placeSchema = v.object({ url: v.string(), lease_port: v.number(), pid: v.number() })
/** Where the running service is; `lease_port` takes the connections of gateways, as long as which it runs. */
export type Place = v.InferOutput<typeof placeSchema>

export const filesIn = (dataDir: string) => ({
  /** Database and keys of the service. */
  records: join(dataDir, "records"),
  place: join(dataDir, "service.json"),
  /** The API key of the gateways; mode 0600. */
  key: join(dataDir, "service-key"),
  /** The service's public keys, as they were at its first start. */
  trust: join(dataDir, "trust.json"),
  log: join(dataDir, "service.log"),
})

export function readPlace(file: string): Place | undefined {
  try {
    const parsed = v.safeParse(placeSchema, JSON.parse(readFileSync(file, "utf8")))
    return parsed.success ? parsed.output : undefined
  } catch {
    return undefined
  }
}

export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim()
  } catch {
    return undefined
  }
}

/** Replaces a file in one step. */
export function writeWhole(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** The options of the Rekor log that also gets every entry. */
import * as v from "valibot"
import { StartupError } from "./startup-error.ts"
import { type AnchorMode, flagOf, type OptionValues } from "./table.ts"
import { HOST_NAME } from "./values.ts"

export type RekorOptions = {
  /** Ends in a slash. */
  readonly url: URL
  /** Of the log's public key; undefined: public Rekor's. */
  readonly keyFile: string | undefined
  /** Host name in the log's checkpoints. */
  readonly host: string
  /** Entries sent to it at one time. */
  readonly inFlight: number
  readonly mode: AnchorMode
  /** Longest that an answer waits in sync mode, in milliseconds: SYNC_WAIT_MS, which no option of the command line sets. */
  readonly syncWaitMs: number
  /** The timestamp authority, and the file of its certificates. Defined exactly when the log has API v2. */
  readonly timestamps: { readonly url: URL; readonly chainFile: string } | undefined
}

/** Longest that an answer waits in sync mode, in milliseconds. */
export const SYNC_WAIT_MS = 25_000

export const PUBLIC_REKOR_URL = "https://rekor.sigstore.dev"

/** Options that a log with API v2 needs. Such a log signs no time, so a timestamp authority does. */
const V2_OPTIONS = ["rekorUrl", "rekorKey", "tsaUrl", "tsaChain"] as const
const TSA_OPTIONS = ["tsaUrl", "tsaChain"] as const
/** All options of the Rekor log. They are refused without `--anchor rekor`. */
const REKOR_OPTIONS = [
  ...["anchorMode", "rekorUrl", "rekorKey", "rekorOrigin", "rekorInFlight", "rekorVersion"],
  ...TSA_OPTIONS,
] as const

/** Undefined without `--anchor rekor`. @throws StartupError for options that contradict each other */
export function rekorOf(options: OptionValues): RekorOptions | undefined {
  if (options.anchor !== "rekor") {
    refuse(options, REKOR_OPTIONS, "--anchor rekor")
    return undefined
  }
  const timestamps = timestampsOf(options)
  const url = options.rekorUrl ?? new URL(PUBLIC_REKOR_URL)
  const host = options.rekorOrigin ?? url.hostname
  if (!v.is(HOST_NAME, host)) throw new StartupError("--rekor-origin must be a lower-case host name without port")
  if (host === options.logOrigin)
    throw new StartupError(
      "--rekor-origin must not be the host of --log-origin: readers tell logs apart by their hosts",
    )
  const { rekorKey: keyFile, rekorInFlight: inFlight = 1, anchorMode: mode = "async" } = options
  return { url, keyFile, host, inFlight, mode, syncWaitMs: SYNC_WAIT_MS, timestamps }
}

/** The timestamp authority for a log that signs no time. */
function timestampsOf(options: OptionValues): RekorOptions["timestamps"] {
  if (options.rekorVersion !== "2") {
    refuse(options, TSA_OPTIONS, "--rekor-version 2")
    return undefined
  }
  const { tsaUrl: url, tsaChain: chainFile } = options
  const missing = V2_OPTIONS.filter(name => options[name] === undefined)
  if (missing.length > 0 || url === undefined || chainFile === undefined)
    throw new StartupError(`--rekor-version 2 needs ${missing.map(flagOf).join(" and ")}`)
  return { url, chainFile }
}

function refuse(options: OptionValues, names: readonly (keyof OptionValues)[], needed: string): void {
  const given = names.find(name => options[name] !== undefined)
  if (given !== undefined) throw new StartupError(`${flagOf(given)} needs ${needed}`)
}

/** The options of the Rekor log that also gets every entry. */
import type { Config, RekorOptions } from "./config.ts"
import { HOST_NAME, integer, type Options, word } from "./option-values.ts"
import { ANCHOR_MODES, PUBLIC_REKOR_URL, parseRekorUrl, parseTsaUrl } from "./outbox/outside-log.ts"
import { StartupError } from "./startup-error.ts"

/** More would only fill the queue of a log that answers one after the other. */
const MAX_IN_FLIGHT = 16
/** Options that speak of the Rekor log. */
const REKOR_OPTIONS = [
  ["anchorMode", "--anchor-mode"],
  ["rekorUrl", "--rekor-url"],
  ["rekorKey", "--rekor-key"],
  ["rekorOrigin", "--rekor-origin"],
  ["rekorInFlight", "--rekor-in-flight"],
  ["rekorVersion", "--rekor-version"],
  ["tsaUrl", "--tsa-url"],
  ["tsaChain", "--tsa-chain"],
] as const
/** What a log that says no time needs besides. */
const V2_OPTIONS = [
  ["rekorUrl", "--rekor-url"],
  ["rekorKey", "--rekor-key"],
  ["tsaUrl", "--tsa-url"],
  ["tsaChain", "--tsa-chain"],
] as const

/** @throws StartupError for an option that cannot be used, or that speaks of a log which is not asked for */
export function rekorOptions(options: Options): Pick<Config, "rekor"> {
  if (options.anchor !== "rekor") {
    for (const [name, flag] of REKOR_OPTIONS)
      if (options[name] !== undefined) throw new StartupError(`${flag} needs --anchor rekor`)
    return {}
  }
  const timestamps = timestampOptions(options)
  const url = parseRekorUrl(options.rekorUrl ?? PUBLIC_REKOR_URL)
  if (url === undefined)
    throw new StartupError(
      "--rekor-url must be an https address (http on this machine only) without credentials, query and fragment",
    )
  const named = { rekorOrigin: url.hostname, rekorInFlight: "1", ...options }
  const host = word(named, "rekorOrigin", "--rekor-origin", HOST_NAME, "a lower-case host name without port")
  if (host === options.logOrigin)
    throw new StartupError(
      "--rekor-origin must not be the host of --log-origin: readers tell logs apart by their hosts",
    )
  const inFlight = integer(named, "rekorInFlight", "--rekor-in-flight", 1, MAX_IN_FLIGHT)
  const mode = ANCHOR_MODES.find(name => name === options.anchorMode) ?? "async"
  const keyFile = options.rekorKey === undefined ? {} : { keyFile: options.rekorKey }
  return { rekor: { url, ...keyFile, host, inFlight, mode, ...timestamps } }
}

/** Who says the time where the log does not: API v2. */
function timestampOptions(options: Options): Pick<RekorOptions, "timestamps"> {
  if (options.rekorVersion !== "2") {
    for (const [name, flag] of [V2_OPTIONS[2], V2_OPTIONS[3]])
      if (options[name] !== undefined) throw new StartupError(`${flag} needs --rekor-version 2`)
    return {}
  }
  const missing = V2_OPTIONS.filter(([name]) => options[name] === undefined).map(([, flag]) => flag)
  const { tsaUrl, tsaChain } = options
  if (missing.length > 0 || tsaUrl === undefined || tsaChain === undefined)
    throw new StartupError(`--rekor-version 2 needs ${missing.join(" and ")}`)
  const url = parseTsaUrl(tsaUrl)
  if (url === undefined)
    throw new StartupError(
      "--tsa-url must be an https or http address of at most 512 characters, without credentials, query and fragment",
    )
  return { timestamps: { url, chainFile: tsaChain } }
}

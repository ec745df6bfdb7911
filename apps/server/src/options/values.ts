/**
 * How an option is described, and the schemas that parse the texts of options into values. Each message continues a sentence that begins with the
 * option's name.
 */
import { MCD_SCOPES, signatureIdSchema } from "@runseal/core/vocabulary/decision-codes"
import { MAX_URI_LENGTH } from "@runseal/log/trust/trusted-root"
import * as v from "valibot"
import { deliveryNetworks } from "./delivery-networks.ts"
import { asFolder, operatorUrl } from "./operator-url.ts"
import { readServerAddress } from "./server-address.ts"
import { areDistinct, MAX_WITNESSES, parseWitness } from "./witness.ts"

/** A whole number within bounds, both included. */
export function integer(min: number, max: number) {
  const rule = `must be an integer from ${min} to ${max}`
  return v.pipe(
    v.string(),
    v.regex(/^\d{1,16}$/, rule),
    v.transform(Number),
    v.minValue(min, rule),
    v.maxValue(max, rule),
  )
}

/** Requests a minute beyond what any process can answer. */
export const RATE = integer(1, 1_000_000_000)
export const ON_OFF = ["on", "off"] as const

/** A text of one form. @param rule what it must be */
export const word = (form: RegExp, rule: string) => v.pipe(v.string(), v.regex(form, `must be ${rule}`))

/** Parses a text with `read`. @param rule the error where `read` gives undefined: what the text must be */
export const readBy = <Value extends NonNullable<unknown>>(read: (text: string) => Value | undefined, rule: string) =>
  v.pipe(
    v.string(),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const value = read(dataset.value)
      if (value !== undefined) return value
      addIssue({ message: `must be ${rule}` })
      return NEVER
    }),
  )

/** An address to listen on; the system resolves a name. */
export const LISTEN_HOST = word(/^[^\s]{1,253}$/, "a host name or address")

/** A folder. An empty text, as an unset variable of a shell gives it, would be the folder that the command was started in. */
export const FOLDER = v.pipe(v.string(), v.nonEmpty("must not be empty"))

/** A host name without port. */
export const HOST_NAME = word(
  /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/,
  "a lower-case host name without port",
)

const withoutFinalSlash = (text: string): string => text.replace(/\/+$/, "")

/** Values of `target_session_attrs` that name the one server that takes writes. */
const PRIMARY = ["read-write", "primary"]

export const DATABASE_URL = readBy(text => {
  const address = readServerAddress(text)
  return address !== undefined && (address.wanted === undefined || PRIMARY.includes(address.wanted))
    ? withoutFinalSlash(text)
    : undefined
}, "an address starting with postgres:// or postgresql://, with target_session_attrs=read-write if with any")
/** Of a standby: one host, since any of several may be the primary. */
export const READ_URL = readBy(text => {
  const address = readServerAddress(text)
  return address?.hosts.length === 1 && address.wanted === undefined ? withoutFinalSlash(text) : undefined
}, "an address starting with postgres:// or postgresql://, with one host and without target_session_attrs")

/** An address that everybody reads: in `GET /version`, in the API description and in the address of every published bundle. */
export const PUBLIC_URL = readBy(
  text => operatorUrl(text, "anywhere") && withoutFinalSlash(text),
  "an http or https address without credentials, query and fragment: anybody reads it",
)
export const REVIEWER_URL = readBy(
  text => operatorUrl(text, "anywhere") && withoutFinalSlash(text),
  "an http or https address without credentials, query and fragment",
)
const HTTPS = "an https address (http on this machine only) without credentials, query and fragment"
/** Without a final slash: the names of a signer's methods are appended to its address. */
export const SIGNER_URL = readBy(text => operatorUrl(text) && withoutFinalSlash(text), HTTPS)
export const REKOR_URL = readBy(text => asFolder(operatorUrl(text)), HTTPS)
/**
 * http is allowed: most authorities have nothing else, the request is a digest of public data, and the answer is signed and repeats a
 * nonce. The address is published in the trust document, which bounds its length.
 */
export const TSA_URL = readBy(text => {
  const url = operatorUrl(text, "anywhere")
  return url === undefined || url.href.length > MAX_URI_LENGTH ? undefined : url
}, `an https or http address of at most ${MAX_URI_LENGTH} characters, without credentials, query and fragment`)

/** Parts of the signature scan's scope, in whatever order; returned in that of `MCD_SCOPES`. */
export const MCD_SCOPE = readBy(
  text => {
    const parts = new Set(text.split(","))
    const scope = MCD_SCOPES.filter(part => parts.delete(part))
    return scope.length > 0 && parts.size === 0 ? scope : undefined
  },
  `one or more of ${MCD_SCOPES.join(", ")}, with commas between`,
)

/** Ids of signatures, sorted and each once. Whether the library has them is checked when it is loaded. */
export const MCD_DISABLED = readBy(text => {
  const ids = text.split(/\s+/).filter(one => one !== "")
  return ids.every(id => v.is(signatureIdSchema, id)) ? [...new Set(ids)].toSorted() : undefined
}, "ids of signatures, such as MCD-FE-005")

/** Networks of receivers, with spaces between. */
export const DELIVERY_NETWORKS = readBy(
  text => deliveryNetworks(text.split(/\s+/).filter(one => one !== "")),
  "a network such as 10.0.0.0/8 or fd00::/8, or an address",
)

export const WITNESSES = v.pipe(
  v.string(),
  v.transform(text => text.split(/\s+/).filter(one => one !== "")),
  v.array(
    readBy(
      parseWitness,
      "the cosignature key of a witness (Ed25519 or ML-DSA-44), =, and its https address (http on this machine only)",
    ),
  ),
  v.check(witnesses => areDistinct(witnesses), "names two witnesses with the same name or key"),
  v.maxLength(MAX_WITNESSES, `may be given ${MAX_WITNESSES} times at most`),
)

// The row of one option.

/** The documentation of an option. */
export type OptionText = {
  /** The flag and a name for its value: the unit, where it has one. */
  readonly flag: string
  /** In Markdown, for the table of docs/operations.md; `--help` shows it as plain text. */
  readonly help: string
  /** The default in words, where it is no fixed value. */
  readonly otherwise?: string
  readonly choices?: readonly string[]
  /** May be given several times; its variable holds the values with spaces between them. */
  readonly repeatable?: true
  /** An action, done once: it has no variable, because a variable would stay set. */
  readonly once?: true
}

/** One row: the documentation of an option, and the schema that parses its text. */
export const option = <Schema extends v.GenericSchema<string | undefined, unknown>>(
  flag: string,
  help: string,
  schema: Schema,
  notes: Omit<OptionText, "flag" | "help"> = {},
) => v.pipe(schema, v.metadata<v.InferOutput<Schema>, OptionText>({ flag, help, ...notes }))

/** A call of a door as the body of `POST /permits`: docs/doors/README.md, "What each door seals". */
import { canonicalize, digest, type JsonValue, sha256Hex, strictValue, utf8Decode } from "@runseal/canonical"
import { InvalidArgumentError } from "./client-errors.ts"
import type { PermitRequest } from "./permit-arguments.ts"
import type { SealedCall, SealOptions } from "./sealed-call.ts"

/** @param missing calls of this program without a record, so far: the next record has their number */
export function requestOf(call: SealedCall, options: SealOptions, missing: number): PermitRequest {
  const { door, called } = call
  const { agent, program_id, registry_record_hash, mode } = options
  const isModel = "model" in called
  const name = isModel ? `model/${called.model}` : called.tool
  const provider = isModel ? (called.provider ?? options.provider) : undefined
  return {
    program_id: program_id ?? digest({ door, agent }),
    route_id: `${door}/${name}`,
    registry_record_hash: registry_record_hash ?? digest(jsonOf({ door, ...called, provider })),
    payload: canonicalize({ tool: name, arguments: jsonOf(call.arguments) }),
    audience: agent,
    reserve_tokens: isModel ? (options.reserve_tokens ?? 0) : 0,
    attested_context: {
      actor_id: agent,
      ...(isModel ? { model_name: called.model, model_provider: provider } : {}),
    },
    ...gapOf(missing),
    ...(mode === "observe" ? { enforcement: "observe" } : {}),
  }
}

const gapOf = (missing: number) => (missing === 0 ? {} : { reproducibility_context: { calls_without_record: missing } })

/** Objects and lists inside so many others are written as a text: a payload of the service nests 64 levels. */
const VALUE_MAX_DEPTH = 60

/**
 * A value as strict JSON. What that cannot write is written as a text, so that nothing is hidden from the service's search. Bytes are
 * written as the text that they are, others as their hash.
 * @throws InvalidArgumentError for a value that JSON cannot write, such as one that holds itself
 */
export function jsonOf(value: unknown): JsonValue {
  try {
    return strictValue(JSON.parse(JSON.stringify(value ?? null, written)), VALUE_MAX_DEPTH)
  } catch {
    throw new InvalidArgumentError("A value of the call cannot be written as JSON.")
  }
}

/**
 * For JSON.stringify, which writes `{}` for an object whose content is in no members. It gives `member` after a method `toJSON`, which makes a
 * list of numbers of some bytes.
 */
function written(this: unknown, name: string, member: unknown): unknown {
  const own: unknown = Reflect.get(Object(this), name)
  if (ArrayBuffer.isView(own)) return writtenBytes(new Uint8Array(own.buffer, own.byteOffset, own.byteLength))
  if (own instanceof ArrayBuffer) return writtenBytes(new Uint8Array(own))
  if (member instanceof Map || member instanceof Set) return [...member]
  if (member instanceof Error) return { ...member, error: `${member}` }
  return typeof member === "bigint" || isClosed(member) ? `${member}` : member
}

/** Whether a value is an object of a class, without members of its own. */
const isClosed = (value: unknown): value is object =>
  typeof value === "object" &&
  value !== null &&
  ![Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value)) &&
  Object.keys(value).length === 0

const writtenBytes = (bytes: Uint8Array): JsonValue =>
  utf8Decode(bytes) ?? { bytes: bytes.length, sha256: sha256Hex(bytes) }

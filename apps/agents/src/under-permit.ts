/** One call of a tool or a model under a permit, as every framework's adapter makes it. docs/doors/README.md has the mapping. */
import { canonicalize, digest, type JsonValue, sha256Hex, strictValue, utf8Decode } from "@runseal/canonical"
import {
  ActFailedError,
  ActTimeoutError,
  type Client,
  type Fail,
  InvalidArgumentError,
  isUnfit,
  PermitRefusedError,
  type PermitRequest,
} from "@runseal/sdk"

export type SealOptions = {
  /** Name of the agent: its program unless `program_id` says otherwise, and the audience of its permits. */
  readonly agent: string
  readonly program_id?: string
  /** Absent: the hash of what the framework knows of the tool or the model. */
  readonly registry_record_hash?: string
  /** `observe`: a refusal is sealed and marked, and stops nothing. `enforce` when absent. */
  readonly mode?: "enforce" | "observe"
  /**
   * What becomes of a call while the service is away: it throws, or it is made and gives its result. One that the service does not take,
   * or whose result it does not take, throws. `closed` when absent.
   */
  readonly fail?: "closed" | "open"
  /** Whether results are sent, searched and reviewed. Otherwise their hashes are declared, and nobody reviews them. */
  readonly capture_content?: boolean
  /** Called with the reason for each call that was made and not sealed. */
  readonly onUnsealed?: (error: unknown) => void
}

/** A call, as it is sealed. */
export type SealedCall = {
  /** Part of the route: `agents/<framework>/<name>`. */
  readonly framework: string
  readonly name: string
  /** Any value that JSON can write. */
  readonly arguments: unknown
  /** What the framework knows of the tool or the model. */
  readonly definition: unknown
  /** Tokens reserved until the call has ended. */
  readonly reserve_tokens?: number
  readonly signal?: AbortSignal | undefined
}

/** A call that has ended. */
export type Made<Result> = { readonly result: Result; readonly tokens?: number | undefined }

/**
 * Makes a call under a permit, and closes it with what became of it: an error is sealed as a failed act, and thrown again. Where calls are
 * only observed, it is made at once, and its result waits for nothing.
 * @param make is called once, and only where the call may be made
 * @param sealed what is sealed of the result; the result itself when absent
 * @throws PermitRefusedError, OutputRefusedError, PermitNotClosedError, ActTimeoutError of the client; the call's own error
 */
export async function underPermit<Result>(
  client: Client,
  call: SealedCall,
  options: SealOptions,
  make: () => Promise<Made<Result>>,
  sealed?: (result: Result) => unknown,
): Promise<Result> {
  if (options.mode !== "observe") return await sealCall(client, call, options, make, sealed)
  const observed = observeCall(client, call, options, sealed)
  try {
    const made = await make()
    await observed.end(made)
    return made.result
  } catch (error) {
    await observed.fail(error)
    throw error
  }
}

/** @param admit is called with what the service is asked, before it is; the call is not asked about when it throws */
async function sealCall<Result>(
  client: Client,
  call: SealedCall,
  options: SealOptions,
  make: () => Promise<Made<Result>>,
  sealed: (result: Result) => unknown = result => result,
  admit: (request: PermitRequest) => void = () => undefined,
): Promise<Result> {
  let made: Made<Result> | undefined
  let began = false
  const act = async (): Promise<Made<Result>> => {
    began = true
    made = await make()
    return made
  }
  try {
    const request = requestOf(call, options, observedBy(client).missing)
    admit(request)
    const { output } = await client.permit(
      request,
      async () => {
        const { result, tokens } = await act()
        return { output: canonicalize(jsonOf(sealed(result))), ...(tokens === undefined ? {} : { tokens }) }
      },
      { signal: call.signal, captureContent: options.capture_content === true, fail: failOf(options) },
    )
    if (made === undefined) throw new Error(`the call ended without a result: ${output.length}`)
    return made.result
  } catch (error) {
    if (call.signal?.aborted) throw error
    if (began) {
      // Sealed by now as it ended, or not to be released.
      if (made !== undefined && !isRefusal(error) && goesOnAfter(error, options)) {
        options.onUnsealed?.(error)
        return made.result
      }
      throw error
    }
    // An observed run that would have been refused has no permit: it stopped nothing.
    if (error instanceof PermitRefusedError && error.result.ok) return (await make()).result
    if (isRefusal(error) || !goesOnAfter(error, options)) throw error
    observedBy(client).missing++
    options.onUnsealed?.(error)
    return (await make()).result
  }
}

/** A call that was let through, as its end is reported. */
export type ReportedCall = {
  /** Seals what was made. @throws OutputRefusedError, PermitNotClosedError; ActTimeoutError after its permit's time, unless it is only observed */
  readonly end: (made: Made<unknown>) => Promise<void>
  /** Seals the call as failed. Never throws: who made the call throws its error. */
  readonly fail: (error: unknown) => Promise<void>
}

/** One that has not ended. */
export type OpenCall = ReportedCall & {
  /**
   * Resolves when the call is closed, also because its permit's time is over, with the same call without what it was made of. Never
   * rejects.
   */
  readonly closed: Promise<ReportedCall>
}

/**
 * As `underPermit`, for a call whose start and end are reported one by one. Resolves when the call may be made.
 * @throws what `underPermit` throws before it makes the call
 */
export function openCall(client: Client, call: SealedCall, options: SealOptions): Promise<OpenCall> {
  if (options.mode === "observe") return Promise.resolve(observeCall(client, call, options))
  return new Promise((resolve, reject) => {
    const sealed: Promise<unknown> = sealCall(
      client,
      call,
      options,
      () =>
        new Promise<Made<unknown>>((settle, fail) => {
          const closed = Promise.resolve().then(() => sealed.then(done, closedAs))
          resolve({
            end: async made => {
              settle(made)
              await (await closed).end(made)
            },
            fail: async error => {
              fail(error)
              await closed
            },
            closed,
          })
        }),
    )
    sealed.catch(reject)
  })
}

const done = (): ReportedCall => ({ end: async () => undefined, fail: async () => undefined })

const closedAs = (error: unknown): ReportedCall => ({
  end: async () => {
    throw error
  },
  fail: async () => undefined,
})

/** Most observed calls of a client that are not sealed yet, and most characters of their arguments. What is beyond is counted. */
const OBSERVED_MAX = 256
const OBSERVED_CHARACTERS_MAX = 67_108_864

/** What a client has observed. */
type Observed = {
  readonly sealing: Set<Promise<unknown>>
  /** Of the arguments of those calls. */
  characters: number
  /** Calls without an opening, so far. The next opening has their number. */
  missing: number
}
const observations = new WeakMap<Client, Observed>()

function observedBy(client: Client): Observed {
  const known = observations.get(client) ?? { sealing: new Set(), characters: 0, missing: 0 }
  observations.set(client, known)
  return known
}

/** Resolves when each observed call that has ended by now is sealed, or is known not to be. A program calls it before it exits. */
export async function flushObserved(client: Client): Promise<void> {
  await Promise.all(observedBy(client).sealing)
}

/** What is reported of a call that is made in any case. It is sealed beside the program, which waits for nothing. */
function observeCall<Result>(
  client: Client,
  { signal, ...call }: SealedCall,
  options: SealOptions,
  sealed?: (result: Result) => unknown,
): Omit<OpenCall, "end"> & { readonly end: (made: Made<Result>) => Promise<void> } {
  const observed = observedBy(client)
  const [act, settle, fail] = reported<Made<Result>>()
  let characters = 0
  const admit = ({ payload = "" }: PermitRequest): void => {
    if (observed.sealing.size >= OBSERVED_MAX || observed.characters + payload.length > OBSERVED_CHARACTERS_MAX)
      throw new Error("Too many observed calls are not sealed yet.")
    characters = payload.length
    observed.characters += characters
  }
  const sealing = sealCall(client, call, options, () => act, sealed, admit)
    // An act's own error is sealed, and thrown by who made the call. One that took longer than its permit is sealed as such.
    .catch(error => (error instanceof ActTimeoutError ? options.onUnsealed?.(error) : undefined))
    .finally(() => {
      observed.sealing.delete(sealing)
      observed.characters -= characters
    })
  observed.sealing.add(sealing)
  return {
    end: async made => settle(made),
    fail: async error => fail(signal?.aborted ? new ActFailedError("TIMED_OUT", `${error}`) : error),
    closed: sealing.then(done),
  }
}

/** A promise for what is reported later. Nobody may wait for it yet when it fails. */
function reported<Value>(): readonly [Promise<Value>, (value: Value) => void, (error: unknown) => void] {
  let settle: (value: Value) => void = () => undefined
  let fail: (error: unknown) => void = () => undefined
  const promise = new Promise<Value>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  promise.catch(() => undefined)
  return [promise, settle, fail]
}

/** Without a decision an observed call goes on, as one does that fails open. */
const failOf = ({ mode, fail }: SealOptions): Fail => (mode === "observe" ? "open" : (fail ?? "closed"))

/** Whether a call is made, or its result given, although this stopped its decision or its close. */
const goesOnAfter = (error: unknown, { mode, fail }: SealOptions): boolean =>
  mode === "observe" || (fail === "open" && !isUnfit(error) && !(error instanceof ActTimeoutError))
const isRefusal = (error: unknown): boolean =>
  error instanceof Error && (error.name === "PermitRefusedError" || error.name === "OutputRefusedError")

function requestOf(
  { framework, name, definition, reserve_tokens = 0, ...call }: SealedCall,
  options: SealOptions,
  missing: number,
): PermitRequest {
  const { agent, program_id, registry_record_hash, mode } = options
  return {
    program_id: program_id ?? digest({ door: `agents/${framework}`, agent }),
    route_id: `agents/${framework}/${name}`,
    registry_record_hash: registry_record_hash ?? digest(jsonOf(definition)),
    payload: canonicalize({ tool: name, arguments: jsonOf(call.arguments) }),
    audience: agent,
    reserve_tokens,
    attested_context: { actor_id: agent },
    ...(missing === 0 ? {} : { reproducibility_context: { calls_without_record: missing } }),
    ...(mode === "observe" ? { enforcement: "observe" } : {}),
  }
}

/** Objects and lists inside so many others are written as a text: a payload of the service nests 64 levels. */
const VALUE_MAX_DEPTH = 60

/**
 * A value as strict JSON. What that cannot write is written as a text, so that nothing is hidden from the service's search. Bytes are
 * written as the text that they are, others as their hash.
 * @throws InvalidArgumentError for a value that JSON cannot write, such as one that holds itself
 */
function jsonOf(value: unknown): JsonValue {
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

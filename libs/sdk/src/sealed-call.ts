/** One call of a tool or a model under a permit, as every door makes it. docs/doors/README.md has the mapping. */
import { canonicalize, digest, type JsonValue, sha256Hex, strictValue, utf8Decode } from "@runseal/canonical"
import { type Fail, failOf, type Mode } from "./breaker.ts"
import type { Client } from "./client.ts"
import { InvalidArgumentError, RunsealError } from "./client-errors.ts"
import type { Cost } from "./execute-arguments.ts"
import { observedBy } from "./observed.ts"
import type { PermitRequest } from "./permit-arguments.ts"
import { ActFailedError, ActTimeoutError, isUnfit, PermitRefusedError } from "./permit-errors.ts"
import type { EndUserToken } from "./settings.ts"

export type SealOptions = {
  /** Name of the agent: its program unless `program_id` says otherwise, and the audience of its permits. */
  readonly agent: string
  readonly program_id?: string
  /** Absent: the hash of what the framework knows of the tool or the model. */
  readonly registry_record_hash?: string
  /** `observe`: a refusal is sealed and marked, and stops nothing. `enforce` when absent. */
  readonly mode?: Mode
  /**
   * What becomes of a call while the service is away: it throws, or it is made and gives its result. One that the service does not take,
   * or whose result it does not take, throws. `closed` when absent.
   */
  readonly fail?: Fail
  /** Who runs the models, where the framework does not know it. */
  readonly provider?: string
  /** Tokens reserved for each call of a model, until it has ended. 0 when absent. */
  readonly reserve_tokens?: number
  /** Whether results are sent, searched and reviewed. Otherwise their hashes are declared, and nobody reviews them. */
  readonly capture_content?: boolean
  /** Milliseconds for which a call waits until people have decided on it. 0 when absent: it throws ApprovalPending at once. */
  readonly approval_wait_ms?: number
  /** Called with the reason for each call that was made and not sealed. */
  readonly onUnsealed?: (error: unknown) => void
}

/** What is called. */
export type Called =
  | { readonly tool: string; readonly description?: string | undefined }
  | { readonly model: string; readonly provider?: string | undefined }

/** A call, as it is sealed. */
export type SealedCall = {
  /** Begins the route, such as `agents/langchain`. */
  readonly door: string
  readonly called: Called
  /** Any value that JSON can write. */
  readonly arguments: unknown
  readonly signal?: AbortSignal | undefined
  /** Of the person for whom it is made; that of the client when absent. */
  readonly endUserToken?: EndUserToken | undefined
}

/** A call that has ended. */
export type Made<Result> = { readonly result: Result; readonly cost?: Cost | undefined }

/**
 * Makes a call under a permit, and closes it with what became of it: an error is sealed as a failed act, and thrown again. Where calls are
 * only observed, it is made at once, and its result waits for nothing.
 * @param make is called once, and only where the call may be made
 * @param sealed what is sealed of the result; the result itself when absent
 * @throws PermitRefusedError, ApprovalPending, PermitUsedError, OutputRefusedError, PermitNotClosedError, ActTimeoutError of the client; the call's
 *   own error
 */
export async function sealedCall<Result>(
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

/** @param admit is called with the characters of the arguments; the service is not asked about the call when it throws */
async function sealCall<Result>(
  client: Client,
  call: SealedCall,
  options: SealOptions,
  make: () => Promise<Made<Result>>,
  sealed: (result: Result) => unknown = result => result,
  admit: (characters: number) => void = () => undefined,
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
    admit(request.payload?.length ?? 0)
    const { output } = await client.permit(
      request,
      async () => {
        const { result, cost } = await act()
        return { output: canonicalize(jsonOf(sealed(result))), cost }
      },
      {
        signal: call.signal,
        endUserToken: call.endUserToken,
        captureContent: options.capture_content === true,
        fail: failOf(options),
        approvalWaitMs: options.approval_wait_ms,
        redeems: true,
      },
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
    // A function of the caller threw, such as `onApprovalWait`: the service is not away.
    const isOfCaller = options.mode !== "observe" && !(error instanceof RunsealError)
    if (isOfCaller || isRefusal(error) || !goesOnAfter(error, options)) throw error
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
 * As `sealedCall`, for a call whose start and end are reported one by one. Resolves when the call may be made.
 * @throws what `sealedCall` throws before it makes the call
 */
export function reportedCall(client: Client, call: SealedCall, options: SealOptions): Promise<OpenCall> {
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

/** What is reported of a call that is made in any case. It is sealed beside the program, which waits for nothing. */
function observeCall<Result>(
  client: Client,
  { signal, ...call }: SealedCall,
  options: SealOptions,
  sealed?: (result: Result) => unknown,
): Omit<OpenCall, "end"> & { readonly end: (made: Made<Result>) => Promise<void> } {
  const [act, settle, fail] = reported<Made<Result>>()
  const sealing = observedBy(client).beside(admit =>
    sealCall(client, call, options, () => act, sealed, admit).then(
      () => undefined,
      // An act's own error is sealed, and thrown by who made the call. One that took longer than its permit is sealed as such.
      error => (error instanceof ActTimeoutError ? options.onUnsealed?.(error) : undefined),
    ),
  )
  return {
    end: async made => settle(made),
    fail: async error => fail(signal?.aborted ? new ActFailedError("TIMED_OUT", `${error}`) : error),
    closed: sealing.then(done),
  }
}

/**
 * The parts of a stream of a call, released as they come. The call is sealed when the last one was read, and the stream ends after that, with an
 * error where a call that is no stream would throw. An error, and a reader that leaves, seal it as failed.
 * @param made what the parts are together; throws what the stream reports as its error without throwing it
 */
export function sealedParts<Part>(
  call: ReportedCall,
  parts: AsyncIterable<Part>,
  made: (parts: readonly Part[]) => Made<unknown>,
): AsyncIterableIterator<Part> {
  const read: Part[] = []
  const source = parts[Symbol.asyncIterator]()
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: async () => {
      try {
        const part = await source.next()
        if (part.done === true) await endOf(call, read, made)
        else read.push(part.value)
        return part
      } catch (error) {
        await call.fail(error)
        throw error
      }
    },
    return: async () => {
      await call.fail(new Error("the reader of the stream left"))
      await source.return?.()
      return { done: true, value: undefined }
    },
  }
}

async function endOf<Part>(
  call: ReportedCall,
  read: readonly Part[],
  made: (parts: readonly Part[]) => Made<unknown>,
): Promise<void> {
  let whole: Made<unknown>
  try {
    whole = made(read)
  } catch (error) {
    return await call.fail(error)
  }
  await call.end(whole)
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

/** Whether a call is made, or its result given, although this stopped its decision or its close. */
const goesOnAfter = (error: unknown, { mode, fail }: SealOptions): boolean =>
  mode === "observe" || (fail === "open" && !isUnfit(error) && !(error instanceof ActTimeoutError))
/** Whether an error is a decision: no call is made, and no result given, after one. */
const isRefusal = (error: unknown): boolean => error instanceof Error && REFUSALS.includes(error.name)
const REFUSALS: readonly string[] = ["PermitRefusedError", "ApprovalPending", "PermitUsedError", "OutputRefusedError"]

// A call of a door as the body of `POST /permits`: docs/doors/README.md, "What each door seals".

/** @param missing calls of this program without a record, so far: the next record has their number */
function requestOf(call: SealedCall, options: SealOptions, missing: number): PermitRequest {
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

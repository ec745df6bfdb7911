/** Exports, line by line as they arrive. docs/api.md, "GET /runs/export" and "The deployment". */
import type { Route } from "@runseal/api/endpoint"
import { concatBytes, utf8Decode } from "@runseal/canonical"
import { callTo } from "./calls.ts"
import { addCall, NetworkError, ProtocolError } from "./client-errors.ts"
import { withDeadline } from "./deadline.ts"
import { ROUTES } from "./endpoint-calls.ts"
import { openAnswer, readReply, shownCall } from "./exchange.ts"
import type { RunFilters } from "./list-pages.ts"
import { refusal } from "./read-reply.ts"
import { type CallOptions, readLimits, type Settings } from "./settings.ts"

/** When the records were admitted, a `Date` or RFC 3339, both ends included; absent: unbounded. */
export type ExportRange = Pick<RunFilters, "from" | "to"> & {
  /** The records of open mode, for the key that they were given to; absent: the calling key's own. */
  readonly tenant?: "anonymous" | undefined
}

type ExportOptions = Omit<CallOptions, "deadlineMs">

export type ExportCalls = {
  /**
   * The calling key's records after a statement that proves them complete: the exact text of each document, oldest first. Save
   * them one a line, or pass them to `verifyExport`. The request is sent when the loop starts and is not retried. `timeoutMs` is the
   * longest wait for the next piece; there is no deadline for the whole export. An export that ends early rejects.
   */
  readonly exportRuns: (range?: ExportRange, options?: ExportOptions) => AsyncGenerator<string>
  /** The same of any key, for admin keys and auditors. `keyId` 0: the records of open mode. */
  readonly exportRunsOf: (
    keyId: number,
    range?: Omit<ExportRange, "tenant">,
    options?: ExportOptions,
  ) => AsyncGenerator<string>
  /** The same of the admin events, by the time at which they were sealed. */
  readonly exportAdminEvents: (range?: Omit<ExportRange, "tenant">, options?: ExportOptions) => AsyncGenerator<string>
}

const NEWLINE = 0x0a
/** Most pieces of a line that are buffered separately, so that a line that arrives byte by byte takes no more memory. */
const PARTS_MAX = 1024

export const exportCalls = (settings: Settings): ExportCalls => ({
  exportRuns: async function* (range, options) {
    yield* exported(settings, ROUTES.export_runs, range, options)
  },
  exportRunsOf: async function* (key, range, options) {
    yield* exported(settings, ROUTES.admin_export_runs, { key, ...range }, options)
  },
  exportAdminEvents: async function* (range, options) {
    yield* exported(settings, ROUTES.export_admin_events, range, options)
  },
})

async function* exported(
  settings: Settings,
  route: Route,
  query: Readonly<Record<string, unknown>> | undefined,
  options: ExportOptions = {},
): AsyncGenerator<string> {
  const { timeoutMs } = readLimits(options, settings)
  const call = callTo(settings, route, { query })
  const over = new AbortController()
  const within = <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withDeadline(settings.sleep, timeoutMs, options.signal, work)
  try {
    const response = await within(() => openAnswer(settings, call, over.signal))
    if (response.status !== 200) throw refusal(await within(signal => readReply(response, settings, signal)))
    if (response.body !== null) yield* linesOf(response.body.getReader(), settings.maxResponseBytes, within)
  } catch (error) {
    throw addCall(error, shownCall(settings, call))
  } finally {
    // However the loop ended, the rest of the answer is cancelled.
    over.abort()
  }
}

type Within = <T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T>

/** @throws NetworkError, ProtocolError for what is not UTF-8, has a line that is too long, or ends within a line */
async function* linesOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
  within: Within,
): AsyncGenerator<string> {
  let parts: Uint8Array[] = []
  let size = 0
  const take = (part: Uint8Array): void => {
    size += part.length
    if (size > maxBytes) throw new ProtocolError(`a line of it is larger than ${maxBytes} bytes`)
    parts.push(part)
    if (parts.length === PARTS_MAX) parts = [concatBytes(...parts)]
  }
  for (;;) {
    const { done, value } = await within(() => reader.read().catch(brokenOff))
    if (done) break
    let start = 0
    for (let end = value.indexOf(NEWLINE); end >= 0; end = value.indexOf(NEWLINE, start)) {
      take(value.subarray(start, end))
      start = end + 1
      const text = utf8Decode(concatBytes(...parts))
      if (text === undefined) throw new ProtocolError("it is not UTF-8")
      parts = []
      size = 0
      yield text
    }
    take(value.subarray(start))
  }
  if (size > 0) throw new ProtocolError("it ends within a line")
}

function brokenOff(cause: unknown): never {
  throw new NetworkError("The answer ended early.", { cause })
}

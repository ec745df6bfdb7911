/** Reads a document: a file, standard input, or an https address. Every read is bounded. */
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs"
import { DEFAULT_MAX_BYTES } from "@runseal/canonical"
import { savedProblem } from "@runseal/core/presentation/saved-text"
import type { Compression } from "./compressed-input.ts"
import { InputError, MissingInput } from "./exit-answer.ts"

export type ReadLimits = {
  /** Maximum bytes, after any content encoding is decoded. */
  readonly maxBytes: number
  /** Timeout of the whole exchange with a server, milliseconds. */
  readonly deadlineMs: number
}

/** 64 MiB, the limit of the strict parser; a server has 30 s to send them. */
export const DOCUMENT_LIMITS: ReadLimits = { maxBytes: DEFAULT_MAX_BYTES, deadlineMs: 30_000 }

/** Bytes of one document a line that are fetched, compressed or expanded: some 300,000 records. A file has no such limit. */
const FETCHED_LINES_MAX_BYTES = 4_294_967_296

/** Redirects followed within one origin. */
const MAX_REDIRECTS = 5
/** Bytes of one read; a bundle takes one or two. */
const CHUNK_BYTES = 65_536
const MISSING: ReadonlySet<number> = new Set([404, 410])
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * The bytes behind a command-line argument: `-` is standard input, `https://…` (and `http://` on this machine only) is
 * fetched, anything else is a file. Throws InputError.
 */
export async function readInput(argument: string, limits: ReadLimits = DOCUMENT_LIMITS): Promise<Uint8Array> {
  if (argument === "-") return await collect(process.stdin, limits)
  return isAddress(argument) ? await fetchBytes(parseAddress(argument), limits) : await readFile(argument, limits)
}

/** The first bytes of each; no JSON begins with them. */
const SIGNATURES: readonly (readonly [Compression, Uint8Array])[] = [
  ["gzip", Uint8Array.of(0x1f, 0x8b)],
  ["zstd", Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd)],
]
const SIGNATURE_MAX_BYTES = 4

/**
 * The bytes behind an argument in chunks, expanded when they are compressed. A file or standard input may be of any size. Throws
 * InputError.
 */
export async function* readChunks(argument: string): AsyncGenerator<Uint8Array> {
  const chunks = chunksBehind(argument)
  let head: Uint8Array = new Uint8Array()
  while (head.length < SIGNATURE_MAX_BYTES) {
    const next = await chunks.next()
    if (next.done) break
    head = Buffer.concat([head, next.value])
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    yield head
    yield* chunks
  }
  const [compression] = SIGNATURES.find(([, bytes]) => bytes.every((byte, at) => byte === head[at])) ?? []
  if (compression === undefined) {
    const problem = savedProblem(head)
    if (problem !== undefined) throw new InputError(`${argument} holds no documents: ${problem}.`)
    return yield* all()
  }
  const { expanded } = await import("./compressed-input.ts")
  yield* expanded(all(), compression, argument === "-" ? "The input" : argument)
}

async function* chunksBehind(argument: string): AsyncGenerator<Uint8Array> {
  if (argument === "-") yield* process.stdin
  else if (isAddress(argument)) yield* fetchChunks(parseAddress(argument))
  else {
    try {
      yield* chunksOf(argument)
    } catch (error) {
      throw new InputError(`${argument} could not be read: ${fileProblem(errorCode(error))}.`)
    }
  }
}

/** Whether an argument names something on a network rather than a file. */
export const isAddress = (argument: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(argument)

/** Whether the file name says that it holds one document a line, compressed or not. */
export const isStream = (argument: string): boolean => /\.ndjson(?:\.gz|\.zst)?$/i.test(argument)

/** Whether an argument names something that is there. */
export const isThere = (argument: string): boolean => existsSync(argument)

/** Whether an argument names a folder; not one that cannot be read. */
export function isFolder(argument: string): boolean {
  try {
    return statSync(argument).isDirectory()
  } catch {
    return false
  }
}

/** The bytes of a file; nothing is fetched. Throws InputError. */
export async function readFile(path: string, limits: ReadLimits): Promise<Uint8Array> {
  try {
    return await collect(chunksOf(path), limits)
  } catch (error) {
    if (error instanceof InputError) throw error
    const code = errorCode(error)
    const Problem = code === "ENOENT" ? MissingInput : InputError
    throw new Problem(`${path} could not be read: ${fileProblem(code)}${addressHint(path)}.`)
  }
}

/** A host with a port, or a name with a dot and something behind it. */
const LIKE_ADDRESS = /^(?:[a-z0-9-]+(?:\.[a-z0-9-]+)*:\d+|[a-z0-9-]+(?:\.[a-z0-9-]+)+(?=\/))(?:\/|$)/i

/** For a missing file whose name may be meant as an address. */
const addressHint = (path: string): string =>
  LIKE_ADDRESS.test(path) ? "; an address begins with https://, or http:// for this machine itself" : ""

/** Synchronous reads: loading Node's streams takes longer than reading a bundle. */
function* chunksOf(path: string): Generator<Uint8Array> {
  const file = openSync(path, "r")
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
      const size = readSync(file, chunk)
      if (size === 0) return
      yield chunk.subarray(0, size)
    }
  } finally {
    closeSync(file)
  }
}

async function collect(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limits: ReadLimits,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > limits.maxBytes) throw tooLarge(limits)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const tooLarge = ({ maxBytes }: ReadLimits): InputError => new InputError(`The input is larger than ${maxBytes} bytes.`)

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Parses an address that may be fetched. Throws InputError. */
export function parseAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) throw new InputError(`${text} is not a complete address.`)
  const allowed = url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname))
  if (!allowed)
    throw new InputError(`${url.protocol}//${url.host} is not fetched: use https (http only for this machine itself).`)
  if (url.username !== "" || url.password !== "") throw new InputError("An address with a password is not fetched.")
  return url
}

async function fetchBytes(start: URL, limits: ReadLimits): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(limits.deadlineMs)
  try {
    return await collect(await fetchBody(start, signal), limits)
  } catch (error) {
    throw fetchProblem(start, error, signal, limits)
  }
}

/** The body of an answer as it arrives. The deadline is that of the answer's head, and of each chunk. */
async function* fetchChunks(start: URL): AsyncGenerator<Uint8Array> {
  const limits = { maxBytes: FETCHED_LINES_MAX_BYTES, deadlineMs: DOCUMENT_LIMITS.deadlineMs }
  const silence = new AbortController()
  const within = async <T>(awaited: Promise<T>, sentence = unreachable): Promise<T> => {
    const timer = setTimeout(() => silence.abort(), limits.deadlineMs)
    try {
      return await awaited
    } catch (error) {
      throw fetchProblem(start, error, silence.signal, limits, sentence)
    } finally {
      clearTimeout(timer)
    }
  }
  const reader = (await within(fetchBody(start, silence.signal))).getReader()
  let size = 0
  for (;;) {
    const { done, value } = await within(reader.read(), brokenOff)
    if (done) return
    size += value.length
    if (size > limits.maxBytes) throw tooLarge(limits)
    yield value
  }
}

/** Follows redirects. Throws InputError, and whatever fetch throws. */
async function fetchBody(start: URL, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  let url = start
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const response = await fetch(url, { redirect: "manual", signal, headers: { accept: "application/json" } })
    const { status, body } = response
    if (status === 200 && body !== null) return body
    await body?.cancel()
    if (MISSING.has(status)) throw new MissingInput(`${url.href} answered with status ${status}.`)
    if (!REDIRECTS.has(status)) throw new InputError(`${url.href} answered with status ${status}.`)
    url = redirected(url, response.headers.get("location"))
  }
  throw new InputError(`${start.href} redirects more than ${MAX_REDIRECTS} times.`)
}

/** @param start whose host is that of every redirect that was followed */
function fetchProblem(
  start: URL,
  error: unknown,
  signal: AbortSignal,
  limits: ReadLimits,
  sentence = unreachable,
): InputError {
  if (error instanceof InputError) return error
  return new InputError(signal.aborted ? timeoutProblem(start, limits) : sentence(start, error))
}

function redirected(from: URL, location: string | null): URL {
  const to = location !== null && URL.canParse(location, from.href) ? new URL(location, from) : undefined
  if (to === undefined) throw new InputError(`${from.href} redirects to nowhere.`)
  if (to.origin !== from.origin)
    throw new InputError(
      `${from.host} redirects to ${to.origin}, another host: give that address yourself if you mean it.`,
    )
  return to
}

const timeoutProblem = ({ host }: URL, { deadlineMs }: ReadLimits): string =>
  `${host} did not send the document within ${deadlineMs / 1000} s.`

const brokenOff = ({ host }: URL): string => `${host} broke off before the end of its answer.`

function unreachable({ host }: URL, error: unknown): string {
  const code = errorCode(error instanceof Error ? error.cause : undefined)
  return `${host} could not be reached${code === undefined ? "" : ` (${code})`}.`
}

/** The code of a system error, such as ENOENT. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined
  return typeof error.code === "string" ? error.code : undefined
}

function fileProblem(code: string | undefined): string {
  if (code === "ENOENT") return "there is no such file"
  if (code === "EISDIR") return "it is a folder"
  if (code === "EACCES" || code === "EPERM") return "you may not read it"
  return code ?? "reading failed"
}

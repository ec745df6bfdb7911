/**
 * A Rekor log as others run it: API v1 of hashedrekord 0.0.1 entries over HTTP, with a tree and keys of its own, built on RFC
 * 6962's own recursion and node:crypto, and with the failures that such a log has.
 */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { p256 } from "@noble/curves/nist.js"
import canonicalizeReference from "canonicalize"
import { afterAll } from "vitest"
import { leafHash, mth, path } from "../../../../libs/log/test/reference-tree.ts"

/** Entries of earlier shards: an index in the log is none in the tree. */
const EARLIER_SHARDS = 4_163_431
const TREE_ID = 1_193_050_959_916_656_506n
const ENTRIES = "/api/v1/log/entries"
/** Longest request that the log takes, in bytes; the real one takes more. */
const MAX_REQUEST_BYTES = 100_000

/** What is sent back, as far as it is decided beside the log. */
export type Sent = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}
export type Asked = { readonly method: string; readonly path: string; readonly body: string; readonly count: number }
/**
 * Answers in the log's place: something else, nothing for ever, or a connection that breaks. The log does what it is asked only
 * when its honest answer is called for.
 */
export type Behaviour = (asked: Asked, honest: () => Sent) => Sent | "silence" | "reset"

/** A server of which a test decides how it behaves. */
export type Behaving = {
  /** Ends in a slash. */
  readonly url: string
  readonly asked: () => readonly (Asked & { readonly status: number | undefined })[]
  /** How it behaves from now on; honestly when nothing is given. */
  readonly behave: (behaviour?: Behaviour) => void
  /** Requests that are being answered. */
  readonly mostAtOnce: () => number
}

export type RekorLog = Behaving & {
  readonly host: string
  readonly keyFile: string
  readonly pem: string
  /** `--anchor rekor` with this log. */
  readonly options: readonly string[]
  /** Bodies of its entries, in its order. */
  readonly bodies: () => readonly string[]
}

/** Does what it is asked, and the answer is lost. */
export const losing =
  (how: "silence" | "reset"): Behaviour =>
  (_, honest) => {
    honest()
    return how
  }

const honestly: Behaviour = (_, honest) => honest()

type Key = { readonly privateKey: KeyObject; readonly logId: Buffer }

/** Starts a log. @param nowMs its clock, milliseconds since the epoch */
export async function startRekor(nowMs: () => number = Date.now, host = "rekor.test"): Promise<RekorLog> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString()
  const logId = createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest()
  const folder = mkdtempSync(join(tmpdir(), "runseal-rekor-"))
  const keyFile = join(folder, "rekor.pub")
  writeFileSync(keyFile, pem)
  const tree = openTree({ privateKey, logId }, host)
  const { url, ...server } = await serve(({ method, path: at, body }) =>
    tree.answer(method, at, body, Math.floor(nowMs() / 1000)),
  )
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return {
    ...server,
    url,
    host,
    keyFile,
    pem,
    options: ["--anchor", "rekor", "--rekor-url", url, "--rekor-key", keyFile, "--rekor-origin", host],
    bodies: tree.bodies,
  }
}

/** Starts a server whose honest answer is this one. `body` is what was sent, as Latin-1: text or bytes. */
export async function serve(honest: (asked: Asked) => Sent): Promise<Behaving> {
  const asked: (Asked & { readonly status: number | undefined })[] = []
  let behaviour = honestly
  let underWay = 0
  let most = 0
  const server = createServer((request, response) => {
    most = Math.max(most, ++underWay)
    response.once("close", () => underWay--)
    void bodyOf(request).then(body => {
      const { method = "", url = "" } = request
      const one = { method, path: url, body, count: asked.length }
      const answer = behaviour(one, () => honest(one))
      asked.push({ ...one, status: typeof answer === "string" ? undefined : answer.status })
      reply(response, answer)
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  afterAll(() => {
    server.close().closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`,
    asked: () => asked,
    behave: (next = honestly) => {
      behaviour = next
    },
    mostAtOnce: () => most,
  }
}

function reply(response: ServerResponse, answer: Sent | "silence" | "reset"): void {
  if (answer === "silence") return
  if (answer === "reset") response.destroy()
  else response.writeHead(answer.status, answer.headers).end(answer.body)
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString("latin1")
}

export const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Sent => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
})
/** A refusal as Rekor words one. */
export const rekorError = (code: number, message: string, headers: Readonly<Record<string, string>> = {}): Sent =>
  json(code, { code, message }, headers)

function openTree(key: Key, host: string) {
  const entries: { readonly body: string; readonly uuid: string; readonly time: number }[] = []
  const leaves: Uint8Array[] = []
  const location = (uuid: string) => ({ location: `${ENTRIES}/${uuid}`, etag: uuid })

  const add = (text: string, time: number): Sent => {
    const body = acceptable(text)
    if (body === undefined) return rekorError(400, "error processing entry: invalid entry")
    const leaf = leafHash(Buffer.from(body))
    const uuid = TREE_ID.toString(16).padStart(16, "0") + Buffer.from(leaf).toString("hex")
    if (entries.some(entry => entry.uuid === uuid)) {
      const message = `an equivalent entry already exists in the transparency log with UUID ${uuid}`
      return rekorError(409, message, location(uuid))
    }
    entries.push({ body, uuid, time })
    leaves.push(leaf)
    return json(201, { [uuid]: show(entries.length - 1) }, location(uuid))
  }
  const show = (index: number) => {
    const { body = "", time = 0 } = entries[index] ?? {}
    const size = leaves.length
    const root = mth(leaves)
    const head = `${host} - ${TREE_ID}\n${size}\n${Buffer.from(root).toString("base64")}\n`
    const note = Buffer.concat([key.logId.subarray(0, 4), signed(key, head)]).toString("base64")
    const logID = key.logId.toString("hex")
    const promised = {
      body: Buffer.from(body).toString("base64"),
      integratedTime: time,
      logID,
      logIndex: EARLIER_SHARDS + index,
    }
    return {
      ...promised,
      attestation: {},
      verification: {
        inclusionProof: {
          checkpoint: `${head}\n— ${host} ${note}\n`,
          hashes: path(index, leaves).map(hash => Buffer.from(hash).toString("hex")),
          logIndex: index,
          rootHash: Buffer.from(root).toString("hex"),
          treeSize: size,
        },
        signedEntryTimestamp: signed(key, canonicalizeReference(promised) ?? "").toString("base64"),
      },
    }
  }
  return {
    bodies: (): readonly string[] => entries.map(({ body }) => body),
    answer: (method: string, at: string, body: string, time: number): Sent => {
      if (method === "POST" && at === ENTRIES) return add(body, time)
      const uuid = at.startsWith(`${ENTRIES}/`) ? at.slice(ENTRIES.length + 1) : ""
      const index = entries.findIndex(entry => entry.uuid === uuid || entry.uuid.endsWith(uuid))
      if (method !== "GET" || uuid === "" || index === -1) return rekorError(404, "entry not found")
      return json(200, { [entries[index]?.uuid ?? ""]: show(index) })
    },
  }
}

/** Low-S or high-S, as it falls. */
const signed = ({ privateKey }: Key, text: string): Buffer => sign("sha256", Buffer.from(text), privateKey)

/** Whether a signature over a digest verifies with this key, SPKI in DER or PEM. Throws for what is no key. */
export function signs(key: string | Buffer, digest: Buffer, der: Buffer): boolean {
  const read = typeof key === "string" ? createPublicKey(key) : createPublicKey({ key, format: "der", type: "spki" })
  const point = read.export({ type: "spki", format: "der" }).subarray(-65)
  return p256.verify(der, digest, point, { prehash: false, format: "der", lowS: false })
}

/** The canonical body of an entry that the log would take: its signature over the digest verifies with its key. */
function acceptable(text: string): string | undefined {
  if (text.length > MAX_REQUEST_BYTES) return undefined
  try {
    const { apiVersion, kind, spec } = JSON.parse(text)
    if (apiVersion !== "0.0.1" || kind !== "hashedrekord" || spec.data.hash.algorithm !== "sha256") return undefined
    const pem = Buffer.from(spec.signature.publicKey.content, "base64").toString("utf8")
    const digest = Buffer.from(spec.data.hash.value, "hex")
    const der = Buffer.from(spec.signature.content, "base64")
    return signs(pem, digest, der) ? canonicalizeReference({ apiVersion, kind, spec }) : undefined
  } catch {
    return undefined
  }
}

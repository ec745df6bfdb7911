/** The witness's HTTP interface: `POST /add-checkpoint` and nothing else. */
import { type KeyObject, sign } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { equalBytes, utf8Decode } from "@runseal/canonical"
import { cosignatureLine } from "@runseal/log/entries/log-signing"
import { EMPTY_ROOT, verifyConsistency } from "@runseal/log/merkle/rfc6962"
import { parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { type NoteKey, parseNote } from "@runseal/log/notes/signed-note"
import { verifyNote } from "@runseal/log/notes/verified-note"
import { ADD_CHECKPOINT, formatTreeSize, parseAddCheckpoint, TREE_SIZE_TYPE } from "@runseal/log/notes/witness-messages"
import type { CosignedTree, WitnessState } from "./state.ts"
import type { KnownLog } from "./witness-options.ts"

/** A checkpoint with 16 cosignatures and 63 hashes is some 6 KB. */
const MAX_BODY_BYTES = 65_536
const MAX_CONNECTIONS = 1000
const REQUEST_DEADLINE_MS = 10_000

export type Witness = {
  readonly key: NoteKey
  readonly secret: KeyObject
  readonly logs: readonly KnownLog[]
  readonly state: WitnessState
  /** Unix seconds. */
  readonly now: () => number
}

/** An answer to a request. */
export type Reply = { readonly status: number; readonly type: string; readonly text: string }

const plain = (status: number, text = ""): Reply => ({ status, type: "text/plain; charset=utf-8", text })

/**
 * Cosigns a checkpoint that extends the one before. Check, write and signature are one synchronous step, so that two requests
 * never both extend the same tree.
 */
export function addCheckpoint(body: string, { key, secret, logs, state, now }: Witness): Reply {
  const judged = judge(body, logs, state)
  if (judged.status === 409 && judged.size !== undefined)
    return { status: 409, type: TREE_SIZE_TYPE, text: formatTreeSize(judged.size) }
  if (judged.status !== 200) return plain(judged.status)
  state.write(judged.origin, judged.tree)
  return plain(
    200,
    cosignatureLine(key, now(), judged.text, message => sign(null, message, secret)),
  )
}

async function reply(request: IncomingMessage, witness: Witness): Promise<Reply> {
  if (request.url !== `/${ADD_CHECKPOINT}`) return plain(404)
  if (request.method !== "POST") return plain(405)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) return plain(413)
    chunks.push(chunk)
  }
  const body = utf8Decode(Buffer.concat(chunks))
  return body === undefined ? plain(400) : addCheckpoint(body, witness)
}

async function answer(request: IncomingMessage, response: ServerResponse, witness: Witness): Promise<void> {
  const { status, type, text } = await reply(request, witness)
  // The rest of an unread body is not waited for.
  if (!request.complete) response.setHeader("connection", "close")
  response.writeHead(status, { "content-type": type }).end(text)
}

/** Listens; gives the address, which ends in a slash, and a function that stops it. */
export async function serve(
  witness: Witness,
  host: string,
  port: number,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const server = createServer({ requestTimeout: REQUEST_DEADLINE_MS }, (request, response) => {
    answer(request, response, witness).catch(() => {
      // The client disconnected, or the state file cannot be written: nothing was signed.
      if (!response.headersSent) response.writeHead(500)
      response.end()
    })
  })
  server.maxConnections = MAX_CONNECTIONS
  server.listen(port, host)
  await once(server, "listening")
  const address = server.address()
  const bound = typeof address === "object" && address !== null ? address.port : port
  return {
    url: `http://${host}:${bound}/`,
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, "close")
    },
  }
}

// Decides whether a checkpoint is cosigned: the checks of C2SP tlog-witness, `add-checkpoint`, in its order.

/** A tree to cosign, with the text to sign; or the status that refuses it, with the size of what was cosigned last where the log was wrong about that. */
type Judgement =
  | { readonly status: 200; readonly origin: string; readonly tree: CosignedTree; readonly text: string }
  | { readonly status: 400 | 403 | 404 | 422 }
  | { readonly status: 409; readonly size?: number }

/** Checks the body of a request against the tree that was cosigned last. Nothing is written. */
function judge(body: string, logs: readonly KnownLog[], state: Pick<WitnessState, "read">): Judgement {
  const request = parseAddCheckpoint(body)
  const note = request === undefined ? undefined : parseNote(request.checkpoint)
  const head = note === undefined ? undefined : parseCheckpoint(note.text)
  if (request === undefined || note === undefined || head === undefined) return { status: 400 }
  const { origin, size, root } = head
  const log = logs.find(known => known.origin === origin)
  if (log === undefined) return { status: 404 }
  if (verifyNote(request.checkpoint, log.keys) === undefined) return { status: 403 }
  const { oldSize, proof, checkpoint } = request
  if (oldSize > size) return { status: 400 }
  const known = state.read(origin) ?? { size: 0, root: EMPTY_ROOT }
  if (oldSize !== known.size) return { status: 409, size: known.size }
  if (oldSize === size && !equalBytes(root, known.root)) return { status: 409 }
  // Every tree follows from the empty one, and nothing can be proved of it.
  const consistent =
    oldSize === 0
      ? proof.length === 0
      : verifyConsistency({ size1: oldSize, size2: size, root1: known.root, root2: root, proof })
  if (!consistent) return { status: 422 }
  return { status: 200, origin, tree: { size, root, checkpoint }, text: note.text }
}

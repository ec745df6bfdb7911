/** Answers of an HTTP server on their way to the agent: messages in JSON bodies and in event streams. */

import type { JsonObject } from "@runseal/canonical"
import { createParser, type EventSourceMessage } from "eventsource-parser"
import { EventSourceParserStream } from "eventsource-parser/stream"
import type { Context } from "hono"
import { type SSEStreamingApi, streamSSE } from "hono/streaming"
import type { Conversation, FromServer } from "./conversation.ts"
import { MESSAGE_MAX_BYTES, readServerMessages } from "./json-rpc.ts"
import type { ToolCall } from "./tool-call.ts"
import { LOST, refusedWith } from "./upstream.ts"

/** @param call the one that was asked for; absent for other requests */
export async function relay(
  c: Context,
  answer: Response,
  headers: Readonly<Record<string, string>>,
  conversation: Conversation,
  call?: ToolCall,
): Promise<Response> {
  const type = (answer.headers.get("content-type") ?? "").toLowerCase()
  const { status } = answer
  if (answer.ok && /^text\/event-stream\b/.test(type)) {
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
    return streamSSE(c, out => relayEvents(answer, out, conversation, call))
  }
  const isJson = /^application\/json\b/.test(type)
  // A client may read events in a success of any type. In a failure it reads a sentence for people.
  if (call === undefined && !isJson) return new Response(answer.ok ? null : answer.body, { status, headers })
  const body = isJson ? await boundedText(answer).catch(() => "") : ""
  const [received] = conversation.fromServer(body)
  // Such as 401 with its challenge: the agent gets status and headers once the failure is sealed, and no word that was not reviewed.
  call?.fail(answer.ok ? LOST : refusedWith(answer.status))
  const text = received === undefined ? await call?.settled : await textOf(received)
  return new Response(text ?? "", { status, headers: { ...headers, "content-type": "application/json" } })
}

const textOf = async (received: FromServer): Promise<string | undefined> =>
  received.kind === "call" ? await received.call.settled : await received.text

type BoundedBody = { readonly body: ReadableStream<BufferSource>; readonly nextMessage: () => void }

/** The body of an answer, which breaks at a message of more than MESSAGE_MAX_BYTES. */
function boundedBody(answer: Response): BoundedBody {
  let size = 0
  const counting = new TransformStream<BufferSource, BufferSource>({
    transform: (chunk, out) => {
      size += chunk.byteLength
      if (size > MESSAGE_MAX_BYTES) out.error(new Error("a message is too large"))
      else out.enqueue(chunk)
    },
  })
  const body = (answer.body ?? new ReadableStream({ start: out => out.close() })).pipeThrough(counting)
  return { body, nextMessage: () => (size = 0) }
}

/** @throws Error for a text of more than MESSAGE_MAX_BYTES, or a body that breaks */
export const boundedText = (answer: Response): Promise<string> => new Response(boundedBody(answer).body).text()

/** Writes events with the ids that they had, so that an agent of an older version can resume. Goes on when the agent has left. */
async function relayEvents(
  answer: Response,
  out: SSEStreamingApi,
  conversation: Conversation,
  call: ToolCall | undefined,
): Promise<void> {
  let resumable = false
  let answered = false
  const write = ({ id, event }: Partial<EventSourceMessage>, data: string): Promise<void> =>
    out.writeSSE({ data, ...(id === undefined ? {} : { id }), ...(event === undefined ? {} : { event }) })
  const events = new EventSourceParserStream({
    onRetry: ms => void out.write(`retry: ${ms}\n\n`),
    onComment: comment => {
      nextMessage()
      out.write(`: ${comment}\n\n`).catch(() => undefined)
    },
  })
  const { body, nextMessage } = boundedBody(answer)
  try {
    for await (const event of body.pipeThrough(new TextDecoderStream()).pipeThrough(events)) {
      nextMessage()
      resumable ||= event.id !== undefined
      // An event without data has the id from which a stream can be resumed.
      if (event.data.trim() === "") await write(event, "")
      for (const received of conversation.fromServer(event.data)) {
        answered ||= received.kind === "call" && received.call === call
        const text = await textOf(received)
        if (text !== undefined) await write(event, text)
      }
    }
  } catch {
    // The stream broke, or nobody waits for it any more.
  }
  // A stream that ended before the answer is resumed by the agent, where it can be; else the answer is lost.
  if (call === undefined || answered || (resumable && !call.signal.aborted)) return
  call.fail(LOST)
  const text = await call.settled
  if (text !== undefined) await write({}, text)
}

/** The response with an id in a body that is JSON or an event stream. @throws Error when there is none */
export function responseIn(body: string, id: string): JsonObject {
  const texts: string[] = [body]
  const parser = createParser({ onEvent: ({ data }) => void texts.push(data) })
  parser.feed(body)
  const found = texts.flatMap(readServerMessages).find(({ message }) => message.id === id)
  if (found === undefined) throw new Error("the server gave no answer")
  return found.message
}

/** Answers of an HTTP server on their way to the agent: messages in JSON bodies and in event streams. A body of another type has none, and passes. */

import type { JsonObject } from "@runseal/canonical"
import { createParser, type EventSourceMessage } from "eventsource-parser"
import { EventSourceParserStream } from "eventsource-parser/stream"
import type { Context } from "hono"
import { type SSEStreamingApi, streamSSE } from "hono/streaming"
import type { Conversation, FromServer } from "./conversation.ts"
import { readServerMessages } from "./json-rpc.ts"
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
  const type = answer.headers.get("content-type") ?? ""
  const init = { status: answer.status, headers }
  if (answer.ok && /^text\/event-stream\b/.test(type)) {
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
    return streamSSE(c, out => relayEvents(answer, out, conversation, call))
  }
  const isJson = /^application\/json\b/.test(type)
  if (call === undefined && !isJson) return new Response(answer.body, init)
  const [received] = isJson ? conversation.fromServer(await answer.text().catch(() => "")) : []
  // Such as 401 with its challenge: the agent gets status and headers once the failure is sealed, and no word that was not reviewed.
  call?.fail(answer.ok ? LOST : refusedWith(answer.status))
  const text = received === undefined ? await answerOf(call) : await textOf(received)
  return new Response(text ?? "", init)
}

/** What the agent gets of a call; undefined for one that it cancelled. */
async function answerOf(call: ToolCall | undefined): Promise<string | undefined> {
  const answer = await call?.settled
  return answer === undefined ? undefined : JSON.stringify(answer)
}

const textOf = async (received: FromServer): Promise<string | undefined> =>
  received.kind === "forward" ? received.text : await answerOf(received.call)

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
    onComment: comment => void out.write(`: ${comment}\n\n`),
  })
  try {
    for await (const event of (answer.body ?? new ReadableStream())
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(events)) {
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
  const text = await answerOf(call)
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

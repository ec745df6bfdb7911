/** Answers of an HTTP server on their way to the agent: messages in JSON bodies and in event streams, and everything else as it is. */
import type { ServerResponse } from "node:http"
import { pipeline } from "node:stream/promises"
import type { JsonObject } from "@runseal/canonical"
import { createParser, type EventSourceMessage } from "eventsource-parser"
import type { Conversation, FromServer } from "./conversation.ts"
import { idOf, readServerMessages } from "./json-rpc.ts"
import type { ToolCall } from "./tool-call.ts"

type Headers = Readonly<Record<string, string>>

export async function relayRaw(answer: Response, response: ServerResponse, headers: Headers): Promise<void> {
  response.writeHead(answer.status, headers)
  if (answer.body === null) response.end()
  else await pipeline(answer.body, response)
}

/** What the agent gets of a message; undefined for a call that it cancelled. */
async function textOf(received: FromServer): Promise<string | undefined> {
  if (received.kind === "forward") return received.text
  const answer = await received.call.settled
  return answer === undefined ? undefined : JSON.stringify(answer)
}

export async function relayJson(
  answer: Response,
  response: ServerResponse,
  headers: Headers,
  conversation: Conversation,
  call?: ToolCall,
): Promise<void> {
  const body = await answer.text().catch(() => "")
  const received = conversation.fromServer(body)
  call?.fail({ code: "EXECUTOR_FAILED", sentence: "the server gave no answer" })
  const texts = (await Promise.all(received.map(textOf))).filter(text => text !== undefined)
  const own = call === undefined || received.some(one => one.kind === "call") ? undefined : await call.settled
  response.writeHead(answer.status, headers)
  response.end(own === undefined ? (texts[0] ?? body) : JSON.stringify(own))
}

/** Writes events with the ids that they had, so that an agent of an older version can resume. */
export async function relayStream(
  answer: Response,
  response: ServerResponse,
  headers: Headers,
  conversation: Conversation,
  call?: ToolCall,
): Promise<void> {
  response.writeHead(answer.status, headers)
  response.flushHeaders()
  let resumable = false
  let answered = false
  let written: Promise<void> = Promise.resolve()
  const write = ({ id, event }: Omit<EventSourceMessage, "data">, data: string): void => {
    if (response.writableEnded || response.destroyed) return
    const fields = [...(id === undefined ? [] : [`id: ${id}`]), ...(event === undefined ? [] : [`event: ${event}`])]
    response.write([...fields, ...data.split("\n").map(line => `data: ${line}`), "", ""].join("\n"))
  }
  const relayEvent = async (event: EventSourceMessage): Promise<void> => {
    resumable ||= event.id !== undefined
    const received = event.data.trim() === "" ? [] : conversation.fromServer(event.data)
    answered ||= received.some(one => one.kind === "call" && one.call === call)
    if (received.length === 0) write(event, event.data)
    for (const one of received) {
      const text = await textOf(one)
      if (text !== undefined) write(event, text)
    }
  }
  const parser = createParser({
    onEvent: event => {
      written = written.then(() => relayEvent(event)).catch(() => undefined)
    },
    onRetry: ms => void response.write(`retry: ${ms}\n\n`),
    onComment: comment => void response.write(`: ${comment}\n\n`),
  })
  try {
    const decoder = new TextDecoder()
    for await (const chunk of answer.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }))
  } catch {
    // The stream broke, or nobody waits for it any more.
  }
  await written
  // A stream that ended before the answer is resumed by the agent, where it can be; else the answer is lost.
  if (call !== undefined && !answered && (!resumable || call.signal.aborted)) {
    call.fail({ code: "EXECUTOR_FAILED", sentence: "the server ended its answer too early" })
    const settled = await call.settled
    if (settled !== undefined) write({}, JSON.stringify(settled))
  }
  response.end()
}

/** The response with an id in a body that is JSON or an event stream. @throws Error when there is none */
export function responseIn(body: string, id: string): JsonObject {
  const texts: string[] = [body]
  const parser = createParser({ onEvent: ({ data }) => void texts.push(data) })
  parser.feed(body)
  const found = texts.flatMap(readServerMessages).find(message => idOf(message) === id)
  if (found === undefined) throw new Error("the server gave no answer")
  return found
}

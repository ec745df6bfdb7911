/** For the contract tests: a local HTTP server, and the wire formats of the two model APIs as they document them. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import { PROCESS_WORLD, type RetryWorld } from "../../src/outbound/ask.ts"
import { anthropicReviewer, openAiReviewer } from "../../src/review/model-reviewers.ts"
import { type Reviewer, ReviewFailure } from "../../src/review/reviewer.ts"

export const API_KEY = "key-0123456789abcdef"

export interface Received {
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
/** Answers the n-th request, counted from 1. */
export type Answer = (response: ServerResponse, call: number) => unknown

export interface WireServer {
  readonly base: string
  readonly received: Received[]
  answer: Answer
  close(): Promise<void>
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  let body = ""
  for await (const chunk of incoming.setEncoding("utf8")) body += chunk
  return body
}

export async function startWireServer(): Promise<WireServer> {
  const received: Received[] = []
  const server = createServer(async (incoming, response) => {
    received.push({ path: incoming.url, headers: incoming.headers, body: await bodyOf(incoming) })
    await wire.answer(response, received.length)
  })
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" ? address?.port : undefined
  const wire: WireServer = {
    base: `http://127.0.0.1:${port}`,
    received,
    answer: response => response.destroy(),
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return wire
}

/** A whole reply at once. */
export const send =
  (status: number, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Answer =>
  response =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body)

/** The real network; waits are noted, not waited for, and chance and time are fixed. */
export function stillWorld(waits: number[] = []): RetryWorld {
  return {
    ...PROCESS_WORLD,
    sleep: async milliseconds => {
      waits.push(milliseconds)
    },
    random: () => 0.5,
    nowMs: () => Date.parse("2026-03-01T00:00:00Z"),
  }
}

export async function failureOf(review: Promise<unknown>): Promise<ReviewFailure> {
  const outcome = await review.catch((error: unknown) => error)
  if (outcome instanceof ReviewFailure) return outcome
  throw new Error("The review did not fail as a review fails.")
}

export interface WireFormat {
  readonly create: (base: string, world: RetryWorld) => Reviewer
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** A complete reply whose answer is this text. */
  readonly text: (answer: string) => object
  /** A complete reply with this object as its answer, in the API's own way. */
  readonly verdict: (answer: unknown) => object
  /** Replies of the API that are no complete answer, although they contain a release. */
  readonly incomplete: readonly (readonly [string, object])[]
}

const RELEASE = { verdict: "release", reason: "ACCEPTABLE" }
const releaseText = JSON.stringify(RELEASE)

function completion(content: string): object {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1772323200,
    model: "reviewer-1-2026",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content, refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: { prompt_tokens: 400, completion_tokens: 12, total_tokens: 412 },
    system_fingerprint: "fp_1",
  }
}

const choice = (rest: object): object => ({ finish_reason: "stop", message: { content: releaseText }, ...rest })

export const openAiWire: WireFormat = {
  create: (base, world) => openAiReviewer({ baseUrl: `${base}/v1`, model: "reviewer-1", apiKey: API_KEY }, world),
  path: "/v1/chat/completions",
  headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
  text: completion,
  verdict: answer => completion(JSON.stringify(answer)),
  incomplete: [
    ["a cut answer", { choices: [choice({ finish_reason: "length" })] }],
    ["a filtered answer", { choices: [choice({ finish_reason: "content_filter" })] }],
    ["a refusal", { choices: [choice({ message: { content: releaseText, refusal: "I cannot" } })] }],
    ["no choice", { choices: [] }],
    ["two choices", { choices: [choice({}), choice({})] }],
    ["no content", { choices: [choice({ message: { content: null } })] }],
    ["an error object", { error: { message: "no", type: "server_error" } }],
  ],
}

const message = (stop_reason: string, ...content: readonly object[]): object => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "reviewer-2",
  content,
  stop_reason,
  stop_sequence: null,
  usage: { input_tokens: 400, output_tokens: 12 },
})

const toolUse = (input: unknown, name = "report_verdict"): object => ({ type: "tool_use", id: "toolu_1", name, input })

export const anthropicWire: WireFormat = {
  create: (base, world) => anthropicReviewer({ baseUrl: base, model: "reviewer-2", apiKey: API_KEY }, world),
  path: "/v1/messages",
  headers: { "x-api-key": API_KEY, "anthropic-version": "2023-06-01", "content-type": "application/json" },
  text: text => message("end_turn", { type: "text", text }),
  verdict: input => message("tool_use", toolUse(input)),
  incomplete: [
    ["a cut answer", message("max_tokens", toolUse(RELEASE))],
    ["a refusal", message("refusal", { type: "text", text: releaseText })],
    ["no content", message("end_turn")],
    ["another tool", message("tool_use", toolUse(RELEASE, "search"))],
    ["the tool twice", message("tool_use", toolUse(RELEASE), toolUse(RELEASE))],
    ["an unknown block", message("end_turn", { type: "image" }, { type: "text", text: releaseText })],
    ["an error object", { type: "error", error: { type: "api_error", message: "no" } }],
  ],
}

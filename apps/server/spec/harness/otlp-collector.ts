/** A collector of traces: it takes spans by OTLP over HTTP, and remembers them with the bytes in which they came. */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import protobuf from "protobufjs/light.js"

/** Of opentelemetry-proto 1.x, by its field numbers: what the tests read. */
const messages = protobuf.Root.fromJSON({
  nested: {
    AnyValue: {
      fields: { stringValue: { type: "string", id: 1 }, intValue: { type: "int64", id: 3 } },
    },
    KeyValue: { fields: { key: { type: "string", id: 1 }, value: { type: "AnyValue", id: 2 } } },
    Resource: { fields: { attributes: { rule: "repeated", type: "KeyValue", id: 1 } } },
    Status: { fields: { message: { type: "string", id: 2 }, code: { type: "int32", id: 3 } } },
    Link: { fields: { traceId: { type: "bytes", id: 1 }, spanId: { type: "bytes", id: 2 } } },
    Span: {
      fields: {
        traceId: { type: "bytes", id: 1 },
        spanId: { type: "bytes", id: 2 },
        parentSpanId: { type: "bytes", id: 4 },
        name: { type: "string", id: 5 },
        kind: { type: "int32", id: 6 },
        attributes: { rule: "repeated", type: "KeyValue", id: 9 },
        links: { rule: "repeated", type: "Link", id: 13 },
        status: { type: "Status", id: 15 },
      },
    },
    ScopeSpans: { fields: { spans: { rule: "repeated", type: "Span", id: 2 } } },
    ResourceSpans: {
      fields: { resource: { type: "Resource", id: 1 }, scopeSpans: { rule: "repeated", type: "ScopeSpans", id: 2 } },
    },
    Request: { fields: { resourceSpans: { rule: "repeated", type: "ResourceSpans", id: 1 } } },
  },
})
const REQUEST = messages.lookupType("Request")

type Attributes = Readonly<Record<string, string | number>>

export type CollectedSpan = {
  readonly trace_id: string
  readonly span_id: string
  /** Empty for a root. */
  readonly parent_id: string
  readonly name: string
  /** 1 internal, 2 server. */
  readonly kind: number
  readonly attributes: Attributes
  /** Ids of the linked spans. */
  readonly links: readonly string[]
  /** 2 for a span that failed. */
  readonly status: number
  readonly status_message: string
  readonly resource: Attributes
}

export type Collector = {
  readonly url: string
  readonly spans: () => readonly CollectedSpan[]
  /** Everything that was sent, as it came. */
  readonly bytes: () => Buffer
  readonly headers: () => readonly IncomingHttpHeaders[]
  /** Status of the following answers; 0: no answer is given. */
  readonly answer: (status: number) => void
  readonly close: () => Promise<void>
}

export async function startCollector(): Promise<Collector> {
  const [spans, bodies, heads]: [CollectedSpan[], Buffer[], IncomingHttpHeaders[]] = [[], [], []]
  let status = 200
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const body = Buffer.concat(parts)
    bodies.push(body)
    heads.push(request.headers)
    if (status === 0) return
    if (status === 200) spans.push(...readSpans(body))
    response.writeHead(status, { "content-type": "application/x-protobuf" }).end()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === "string") throw new Error("a listening server has a port")
  return {
    url: `http://127.0.0.1:${address.port}`,
    spans: () => spans,
    bytes: () => Buffer.concat(bodies),
    headers: () => heads,
    answer: next => {
      status = next
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}

type Value = Readonly<Record<string, unknown>>

const membersOf = (value: unknown): Value =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {}
const list = (value: unknown): readonly Value[] => (Array.isArray(value) ? value.map(membersOf) : [])
const text = (value: unknown): string => (typeof value === "string" ? value : "")
const hex = (value: unknown): string => Buffer.from(text(value), "base64").toString("hex")

function attributesOf(value: unknown): Attributes {
  return Object.fromEntries(
    list(value).map(({ key, value: of }) => {
      const { stringValue, intValue } = membersOf(of)
      return [text(key), typeof stringValue === "string" ? stringValue : Number(intValue)]
    }),
  )
}

function readSpans(body: Buffer): readonly CollectedSpan[] {
  const read = REQUEST.toObject(REQUEST.decode(body), { bytes: String, longs: String })
  return list(read.resourceSpans).flatMap(({ resource, scopeSpans }) =>
    list(scopeSpans).flatMap(scope =>
      list(scope.spans).map(span => ({
        trace_id: hex(span.traceId),
        span_id: hex(span.spanId),
        parent_id: hex(span.parentSpanId),
        name: text(span.name),
        kind: Number(span.kind),
        attributes: attributesOf(span.attributes),
        links: list(span.links).map(({ spanId }) => hex(spanId)),
        status: Number(membersOf(span.status).code ?? 0),
        status_message: text(membersOf(span.status).message),
        resource: attributesOf(membersOf(resource).attributes),
      })),
    ),
  )
}

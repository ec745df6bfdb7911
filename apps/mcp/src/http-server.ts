/** A Streamable HTTP server behind an agent on stdio, through the transport of the official client. Redirects to other origins are not followed. */
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { idKey, idOf, objectAt, readServerMessages, textAt } from "./json-rpc.ts"
import type { HttpServer } from "./servers.ts"
import { codeOfStatus, type Upstream, UpstreamError, unanswered } from "./upstream.ts"

function errorOf(error: unknown): UpstreamError {
  const status = error instanceof Error && "status" in error ? error.status : undefined
  return typeof status === "number"
    ? new UpstreamError(codeOfStatus(status), `the server answered ${status}`)
    : unanswered(error)
}

export function connectHttpServer({ url, headers = {} }: HttpServer, receive: (text: string) => void): Upstream {
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  const initializing = new Set<string>()
  transport.onmessage = message => {
    const text = JSON.stringify(message)
    for (const one of readServerMessages(text)) {
      const version = textAt(objectAt(one, "result"), "protocolVersion")
      if (version !== undefined && initializing.delete(idKey(idOf(one) ?? ""))) transport.setProtocolVersion(version)
    }
    receive(text)
  }
  const started = transport.start()
  return {
    send: async (text, { signal, lost } = {}) => {
      await started
      const message = JSON.parse(text)
      if (message.method === "initialize") initializing.add(idKey(message.id))
      try {
        await transport.send(message, {
          ...(signal === undefined ? {} : { requestSignal: signal }),
          ...(lost === undefined ? {} : { onRequestStreamEnd: lost }),
        })
      } catch (error) {
        throw errorOf(error)
      }
    },
    // A server that cannot be reached now may be reached by the next call.
    gone: new Promise<number>(() => undefined),
    stop: async () => {
      await transport.terminateSession().catch(() => undefined)
      await transport.close()
    },
  }
}

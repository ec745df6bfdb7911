/** A Streamable HTTP server behind an agent on stdio, through the transport of the official client. Redirects are not followed. */
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { keyOf, objectAt, textAt } from "./json-rpc.ts"
import type { HttpServer } from "./servers.ts"
import { refusedWith, type Upstream, unanswered } from "./upstream.ts"

export function connectHttpServer({ url, headers = {} }: HttpServer, receive: (text: string) => void): Upstream {
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers, redirect: "manual" } })
  /** The id of `initialize`, whose answer names the version of the further requests. */
  let initializing: string | undefined
  transport.onmessage = message => {
    const text = JSON.stringify(message)
    const received = JSON.parse(text)
    const version = textAt(objectAt(received, "result"), "protocolVersion")
    if (version !== undefined && initializing === keyOf(received.id)) transport.setProtocolVersion(version)
    receive(text)
  }
  const started = transport.start()
  return {
    send: async (text, { signal, lost } = {}) => {
      await started
      const message = JSON.parse(text)
      if (message.method === "initialize") initializing = keyOf(message.id)
      try {
        await transport.send(message, {
          ...(signal === undefined ? {} : { requestSignal: signal }),
          ...(lost === undefined ? {} : { onRequestStreamEnd: lost }),
        })
      } catch (error) {
        const status = error instanceof Error && "status" in error ? error.status : undefined
        throw typeof status === "number" ? refusedWith(status) : unanswered(error)
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

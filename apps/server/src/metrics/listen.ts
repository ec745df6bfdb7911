/** The metrics' own port: what it tells is for the operator, so it never shares the callers' door. */
import { type Listening, listen } from "../http/listen.ts"
import type { Metrics } from "./metrics.ts"

const HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" }

async function answer(metrics: Metrics, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname !== "/metrics" || (request.method !== "GET" && request.method !== "HEAD"))
    return Response.json({ ok: false, error: "There is only GET /metrics here." }, { status: 404, headers: HEADERS })
  const { text, type } = await metrics.expose()
  return new Response(text, { headers: { ...HEADERS, "Content-Type": type } })
}

/** @throws StartupError when the address cannot be listened on */
export const listenForMetrics = (metrics: Metrics, host: string, port: number): Promise<Listening> =>
  listen({ fetch: request => answer(metrics, request), host, port })

/** What the load generator is told, and what it tells. It is a process of its own: it must not share the server's thread. */

export type LoadRequest = {
  readonly method: "GET" | "POST"
  readonly path: string
  /** JSON text; absent for a GET. */
  readonly body?: string
  /** The one status that is right. Any other ends the bench. */
  readonly status: number
}

export type LoadJob = {
  /** `http://127.0.0.1:<port>` of each process that is asked, connections shared out among them. */
  readonly urls: readonly string[]
  /** Sent in turn; at least one. */
  readonly requests: readonly LoadRequest[]
  /** `X-Service-Key` of the requests, in turn; none: the header is not sent. */
  readonly secrets: readonly string[]
  readonly connections: number
  /** Not counted. */
  readonly warmSeconds: number
  readonly seconds: number
  /**
   * Requests a second, whatever the answers do: latency counts from the instant a request was due. Absent: each connection asks again as
   * soon as it is answered.
   */
  readonly perSecond?: number
}

export type LoadResult = {
  /** To everything asked within the counted seconds. */
  readonly answers: number
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly slowest: number
}

export type LoadReply = { readonly result: LoadResult } | { readonly failure: string }

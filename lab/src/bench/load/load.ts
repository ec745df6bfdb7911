/** Puts a server under load from another process: the generator must not share the server's thread. */
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"

export type LoadRequest = {
  readonly method: "GET" | "POST"
  readonly path: string
  /** JSON text; absent for a GET. */
  readonly body?: string
  /** The one status that is right. Any other ends the bench. */
  readonly status: number
  /** Sent right after the answer, on the same connection and with the same key. It belongs to this request: only its status is looked at. */
  readonly followedBy?: FollowingRequest
}

/** `{}` in its path is what the answer before it has as `member`. */
export type FollowingRequest = LoadRequest & { readonly member: string }

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
  /** Ends the job when so many requests were sent, if that is sooner; only without `perSecond`. */
  readonly requestsMax?: number
  /**
   * Requests a second, whatever the answers do: latency counts from the instant a request was due. Absent: each connection sends the next as
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

const GENERATOR = fileURLToPath(new URL("generator.ts", import.meta.url))
/** How much longer than its seconds a job may take before it is ended, in milliseconds. */
const GRACE_MS = 60_000

/** @throws Error when any answer had another status than its request names, or the job does not end */
export function load(job: LoadJob): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const generator = fork(GENERATOR, { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] })
    const kill = (): void => void generator.kill("SIGKILL")
    process.once("exit", kill)
    const late = setTimeout(kill, (job.warmSeconds + job.seconds) * 1000 + GRACE_MS)
    generator.once("exit", () => {
      clearTimeout(late)
      process.off("exit", kill)
      reject(new Error("the load generator ended without a result"))
    })
    generator.on("message", (reply: LoadReply) => {
      if ("result" in reply) resolve(reply.result)
      else reject(new Error(reply.failure))
    })
    generator.send(job)
  })
}

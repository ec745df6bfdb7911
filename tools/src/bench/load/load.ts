/** Puts a server under load from another process. */
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { LoadJob, LoadReply, LoadResult } from "./job.ts"

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

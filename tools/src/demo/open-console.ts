/** The end of `npm run demo -- --console`: the service once more on the demo's data, with keys to sign in with. */
import { execFileSync } from "node:child_process"
import { fillConsole } from "./console-data.ts"
import type { Folders } from "./folders.ts"
import { plainEnvironment, ROOT, SERVICE, startServer } from "./server-process.ts"
import type { Story } from "./story.ts"

/** Makes an admin key and runs the service until a signal ends this process. @returns the exit code of the service, if it ends before */
export async function openConsole({ data }: Folders, story: Story): Promise<number | null> {
  const words = [SERVICE, "--data-dir", data]
  const options = { cwd: ROOT, env: plainEnvironment(), encoding: "utf8", stdio: "pipe" } as const
  const key = execFileSync(process.execPath, [...words, "--mint-admin-key", "demo"], options).trim()
  const service = await startServer([...words, "--port", "0"])
  story.chapter("The console")
  const { auditor, customer } = await fillConsole(service.url, key)
  story.say(`Open ${service.url}/console and sign in with a key of the demo:`)
  story.say(`administrator  ${key}`)
  story.say(`auditor        ${auditor}`)
  story.say(`customer       ${customer}`)
  story.say("Ctrl-C stops the service.")
  return new Promise(resolve => service.child.once("close", resolve))
}

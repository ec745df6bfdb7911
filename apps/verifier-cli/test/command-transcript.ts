/** Transcripts: comments, command lines, what they print and how they end. Reading, running and writing them. */
import { execFile } from "node:child_process"

/** A command with its output; `comment` are the lines above it, as they are. */
export type Step = { readonly comment: string; readonly command: string; readonly output: string }

/** Before a command … */
const PROMPT = "$ "
/** … and before a line of standard error; the last line is the exit code. */
const STDERR = "! "
const END = /^\[exit \d+\]$/

export function parseTranscript(text: string): readonly Step[] {
  const steps: Step[] = []
  let comment: string[] = []
  let open: { command: string; lines: string[] } | undefined
  for (const line of text.split("\n")) {
    if (open === undefined && line.startsWith(PROMPT)) open = { command: line.slice(PROMPT.length), lines: [] }
    else if (open === undefined) comment.push(line)
    else {
      open.lines.push(line)
      if (!END.test(line)) continue
      steps.push({ comment: comment.join("\n"), command: open.command, output: open.lines.join("\n") })
      comment = []
      open = undefined
    }
  }
  if (open !== undefined) throw new Error(`the transcript ends within: ${open.command}`)
  return steps
}

export function formatTranscript(steps: readonly Step[]): string {
  const block = ({ comment, command, output }: Step): string => {
    const above = comment.trim()
    return `${above === "" ? "" : `${above}\n`}${PROMPT}${command}\n${output}\n`
  }
  return steps.map(block).join("\n")
}

/** Runs a command line and writes its output down as a transcript does; a pipe ends as its first command that failed. */
export async function runCommand(command: string, options: { cwd: string; env: NodeJS.ProcessEnv }): Promise<string> {
  const { stdout, stderr, code } = await new Promise<{ stdout: string; stderr: string; code: number }>(done => {
    const child = execFile("bash", ["-o", "pipefail", "-c", command], options, (_, stdout, stderr) =>
      done({ stdout, stderr, code: child.exitCode ?? -1 }),
    )
    child.stdin?.end()
  })
  const errors = stderr === "" ? "" : `${STDERR}${stderr.trimEnd().replaceAll("\n", `\n${STDERR}`)}\n`
  return `${stdout}${stdout === "" || stdout.endsWith("\n") ? "" : "\n"}${errors}[exit ${code}]`
}

import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Programs of poppler and qpdf, readers of PDF that are not ours. */
type Tool = "pdftotext" | "pdfinfo" | "pdfdetach" | "pdffonts" | "pdfsig" | "qpdf"

export function hasTool(tool: Tool): boolean {
  return spawnSync(tool, ["--version"]).error === undefined
}

/** What a tool prints about a PDF; `FILE` among the arguments is where the PDF is, `OUT` where the tool may write. */
export function askTool(
  tool: Tool,
  pdf: Uint8Array,
  ...args: string[]
): { status: number | null; text: string; out: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), "runseal-pdf-"))
  try {
    const places: Record<string, string> = { FILE: join(folder, "report.pdf"), OUT: join(folder, "out") }
    writeFileSync(join(folder, "report.pdf"), pdf)
    writeFileSync(join(folder, "out"), "")
    const { status, stdout, stderr } = spawnSync(
      tool,
      args.map(arg => places[arg] ?? arg),
      { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
    )
    return { status, text: stdout + stderr, out: readFileSync(join(folder, "out")) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

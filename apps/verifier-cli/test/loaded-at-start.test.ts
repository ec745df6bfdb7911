/** A plain verification starts in milliseconds because it loads nothing that it does not need. */
import { join } from "node:path"
import { build } from "esbuild"
import { expect, test } from "vitest"
import { PACKAGE } from "./installed.ts"

/** The sources that are loaded when the command line is, before any of its commands runs. */
async function loadedAtStart(): Promise<readonly string[]> {
  const { metafile } = await build({
    absWorkingDir: PACKAGE,
    entryPoints: ["src/main.ts"],
    outdir: join(PACKAGE, "dist"),
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    write: false,
    metafile: true,
  })
  const chunks = new Set(
    Object.keys(metafile.outputs).filter(path => metafile.outputs[path]?.entryPoint === "src/main.ts"),
  )
  // A set that grows while it is walked is walked to its end.
  for (const chunk of chunks)
    for (const { path, kind } of metafile.outputs[chunk]?.imports ?? [])
      if (kind === "import-statement" && path in metafile.outputs) chunks.add(path)
  return [...chunks].flatMap(chunk => Object.keys(metafile.outputs[chunk]?.inputs ?? {}))
}

test("what reads PDFs, what exports, what decides again, what holds records together and what reads other command lines is loaded only by who asks for it", async () => {
  const loaded = await loadedAtStart()
  expect(loaded).toContain("src/verify-command.ts")
  expect(loaded).toContain("../../libs/core/src/verify/document.ts")
  const late =
    /^src\/export-|approve-|command-line|trust-command|expected-|payload-files|libs\/policy|verify-many|zipped-record|zip-input|output-schema|shell-completion|help-texts|commander|complete|export-records|sigstore|report-pdf\/(?!is-pdf)/
  expect(loaded.filter(path => late.test(path))).toEqual([])
})

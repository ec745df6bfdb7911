/** `npm run sizes`: prints how large the repository is, with the aim of each figure. It changes nothing and never fails for a figure. */
import { parseArgs } from "node:util"
import { filesOfExecute } from "./files-of-execute.ts"
import { type Figure, sourceFigures } from "./source-figures.ts"

const USAGE = `Usage: npm run sizes

Counts lines, files, rooms, circles and copies of facts from the sources, and starts a service to count the files that one
POST /execute passes. It takes no options but --help.
`

const line = ({ name, value, atMost, detail }: Figure): string => {
  const aim = atMost === undefined ? "" : `aim ${atMost.toLocaleString("en")}${value <= atMost ? "" : ", missed"}`
  const row = `${name.padEnd(62)} ${value.toLocaleString("en").padStart(8)}   ${aim}`.trimEnd()
  return detail === undefined || detail === "" ? row : `${row}\n    ${detail}`
}

const { values } = parseArgs({ options: { help: { type: "boolean", short: "h" } } })
if (values.help) process.stdout.write(USAGE)
else for (const figure of [...sourceFigures(), await filesOfExecute()]) process.stdout.write(`${line(figure)}\n`)

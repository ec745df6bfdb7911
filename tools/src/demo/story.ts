/** Output of the demo: chapters, short lines, and statements that are true or false. */
import { styleText } from "node:util"

type Format = Parameters<typeof styleText>[0]

export type Story = {
  readonly title: (text: string) => void
  readonly chapter: (title: string) => void
  readonly say: (line: string) => void
  /** A detail, in a dim colour. */
  readonly note: (line: string) => void
  /** A command as a reader would type it. */
  readonly command: (line: string) => void
  /** The next line of a command. */
  readonly more: (line: string) => void
  /** A statement; a false one makes the demo fail. */
  readonly state: (line: string, cameTrue: boolean) => void
  readonly counts: () => { readonly all: number; readonly failed: number }
}

/** Writes to a stream; `paint` colours a text if the stream shows colours. */
export function createStory(write: (text: string) => void, paint: (format: Format, text: string) => string): Story {
  let chapters = 0
  let all = 0
  let failed = 0
  const line = (text: string): void => write(`${text}\n`)
  const indented = (text: string): string => (text === "" ? "" : `   ${text}`)
  return {
    title: text => line(paint("bold", text)),
    chapter: title => {
      chapters += 1
      line("")
      line(paint("bold", `${chapters}  ${title}`))
    },
    say: text => line(indented(text)),
    note: text => line(paint("dim", indented(text))),
    command: text => line(paint("cyan", `   $ ${text}`)),
    more: text => line(paint("cyan", `       ${text}`)),
    state: (text, cameTrue) => {
      all += 1
      if (!cameTrue) failed += 1
      line(`   ${cameTrue ? paint("green", "✓") : paint(["red", "bold"], "✗ NOT AS STATED:")} ${text}`)
    },
    counts: () => ({ all, failed }),
  }
}

/** Writes to standard output, with colours on a terminal that shows them. */
export const tellOnStdout = (): Story =>
  createStory(
    text => process.stdout.write(text),
    (format, text) => styleText(format, text),
  )

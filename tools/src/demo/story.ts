/** How the demo speaks: chapters, short lines, and statements that either came true or did not. */
import { styleText } from "node:util"

type Format = Parameters<typeof styleText>[0]

export type Story = {
  readonly title: (text: string) => void
  readonly chapter: (title: string) => void
  readonly say: (line: string) => void
  /** Something beside the point. */
  readonly note: (line: string) => void
  /** A command as a reader would type it. */
  readonly command: (line: string) => void
  /** What a command goes on with on its next line. */
  readonly more: (line: string) => void
  /** A statement; one that did not come true makes the demo fail. */
  readonly state: (line: string, cameTrue: boolean) => void
  readonly stated: () => { readonly all: number; readonly failed: number }
}

/** A story told on a stream; `paint` colours a text where the stream shows colours. */
export function openStory(write: (text: string) => void, paint: (format: Format, text: string) => string): Story {
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
    stated: () => ({ all, failed }),
  }
}

/** The story on standard output; colours only on a terminal that wants them. */
export const tellOnStdout = (): Story =>
  openStory(
    text => process.stdout.write(text),
    (format, text) => styleText(format, text),
  )

/** A fault that is put into a copy of the sources on purpose: the tests have to find it. */
import { posix } from "node:path"

/** The parts of the product whose promises the faults break. */
export const FAMILIES = ["verify", "seal", "access", "store"] as const

export type SeededFault = {
  readonly family: (typeof FAMILIES)[number]
  /** Base name of the file, which no other file has: so the row stays right when the file moves. */
  readonly file: string
  /** A text that occurs in the file exactly once. */
  readonly find: string
  readonly replace: string
  /** The promise that it breaks, and the page that makes it. */
  readonly what: string
}

/** Path of the file that a fault is in. @throws Error unless exactly one file has its name */
export function pathOf({ file }: SeededFault, paths: readonly string[]): string {
  const [path, ...others] = paths.filter(each => posix.basename(each) === file)
  if (path === undefined || others.length > 0)
    throw new Error(`${path === undefined ? "No file is" : `${others.length + 1} files are`} named ${file}.`)
  return path
}

/** The text of a file with the fault in it. @throws Error unless the text to replace occurs exactly once */
export function withFault({ file, find, replace }: SeededFault, text: string): string {
  const [before, after, ...others] = text.split(find)
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`${file} has this text ${after === undefined ? 0 : others.length + 1} times, and not once: ${find}`)
  return before + replace + after
}

/** The words of the command line after `heads`: what an operator may ask of the folders of heads. */
import type { Command } from "commander"
import { StartupError } from "./startup-error.ts"

/** What is done instead of starting the service. */
export type HeadsCommand = { readonly json: boolean } & (
  | { readonly action: "list" }
  | { readonly action: "forget"; readonly folderId: string }
)

type Flags = { readonly json?: boolean }

/** Adds `heads` and what follows it. @param take given the command, if one was */
export function addHeadsCommands(program: Command, take: (command: HeadsCommand) => void): void {
  const heads = program.command("heads").description("the folders of heads that a database server knows")
  const add = (words: string, text: string): Command =>
    heads.command(words).description(text).option("--json", "print one JSON object")
  add("list", "show every folder, and which ones sealing waits for").action((flags: Flags) =>
    take({ action: "list", json: flags.json === true }),
  )
  add("forget <folder_id>", "wait no more for a folder that does not come back; what it alone knows is lost").action(
    (word: string, flags: Flags) => take({ action: "forget", folderId: folderId(word), json: flags.json === true }),
  )
}

function folderId(word: string): string {
  if (!/^[0-9a-f]{32}$/.test(word))
    throw new StartupError("heads forget needs a folder id of 32 hex digits, as heads list shows")
  return word
}

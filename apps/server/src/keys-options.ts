/** The words of the command line after `keys`: what an operator may ask of the signing keys. */
import { parseUtcSeconds } from "@runseal/core/transparency-log/trusted-keys"
import { Argument, type Command } from "commander"
import { StartupError } from "./startup-error.ts"
import { KEY_ROLES, type KeyRole } from "./store/schema.ts"

/** What is done instead of starting the service. */
export type KeysCommand = { readonly json: boolean } & (
  | { readonly action: "list" }
  | { readonly action: "rotate"; readonly roles: readonly KeyRole[] }
  /** `from` in Unix seconds. */
  | { readonly action: "revoke"; readonly keyId: string; readonly from: number }
)

type Flags = { readonly json?: boolean; readonly from?: string }

/** Adds `keys` and what follows it. @param take given the command, if one was */
export function addKeysCommands(program: Command, take: (command: KeysCommand) => void): void {
  const keys = program.command("keys").description("the signing keys of the service and its log")
  const add = (words: string, text: string): Command =>
    keys.command(words).description(text).option("--json", "print one JSON object")
  add("list", "show every key the log ever had and when it counts").action((flags: Flags) =>
    take({ action: "list", json: flags.json === true }),
  )
  add("rotate", "make a fresh key and retire the one in force; without a word, all three")
    .addArgument(new Argument("[key]", "which key").choices(KEY_ROLES))
    .action((word: string | undefined, flags: Flags) =>
      take({ action: "rotate", roles: KEY_ROLES.filter(role => (word ?? role) === role), json: flags.json === true }),
    )
  add("revoke <key_id>", "let nothing count that a retired key signed from a time on")
    .requiredOption("--from <time>", "RFC 3339 in UTC, to the second")
    .action((word: string, flags: Flags) =>
      take({ action: "revoke", keyId: keyId(word), from: seconds(flags.from ?? ""), json: flags.json === true }),
    )
}

function keyId(word: string): string {
  if (!/^[0-9a-f]{64}$/.test(word))
    throw new StartupError("keys revoke needs a key id of 64 hex digits, as keys list shows")
  return word
}

function seconds(text: string): number {
  const time = parseUtcSeconds(text)
  if (time === undefined) throw new StartupError("--from must be a time such as 2026-11-21T09:57:00Z")
  return time
}

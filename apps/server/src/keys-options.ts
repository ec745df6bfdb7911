/** The words of the command line after `keys`: what an operator may ask of the signing keys. */
import { parseUtcSeconds } from "@runseal/core/transparency-log/trusted-keys"
import { Argument, type Command } from "commander"
import { StartupError } from "./startup-error.ts"
import { KEY_ROLES, type KeyRole } from "./store/schema.ts"

/** What is done instead of starting the service. */
export type KeysCommand = { readonly json: boolean } & (
  | { readonly action: "list" }
  /** `signer`: address of the next service key; absent: it is made in the keys folder. */
  | { readonly action: "rotate"; readonly roles: readonly KeyRole[]; readonly signer?: string }
  /** `from` in Unix seconds. */
  | { readonly action: "revoke"; readonly keyId: string; readonly from: number }
)

type Flags = { readonly json?: boolean; readonly from?: string; readonly signer?: string }

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
    .option("--signer <url>", "where the next service key is kept; without it, in the keys folder")
    .action((word: string | undefined, { signer, json }: Flags) => {
      const roles = KEY_ROLES.filter(role => (word ?? role) === role)
      if (signer !== undefined && !roles.includes("service"))
        throw new StartupError("--signer is for a change of the service key")
      const address = signer === undefined ? {} : { signer: signerAddress(signer, "--signer") }
      take({ action: "rotate", roles, ...address, json: json === true })
    })
  add("revoke <key_id>", "let nothing count that a retired key signed from a time on")
    .requiredOption("--from <time>", "RFC 3339 in UTC, to the second")
    .action((word: string, flags: Flags) =>
      take({ action: "revoke", keyId: keyId(word), from: seconds(flags.from ?? ""), json: flags.json === true }),
    )
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** The address of a signer: https, or http on this machine alone; without credentials, query, fragment and final slash. */
export function signerAddress(text: string, flag: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const reachable = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname))
  if (!reachable || url.username !== "" || url.password !== "" || /[?#]/.test(text))
    throw new StartupError(
      `${flag} must be an https address (http on this machine only) without credentials, query and fragment`,
    )
  return text.replace(/\/+$/, "")
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

/** The commands that run instead of a start: `keys list` and so on, `heads list` and so on. */

import { KEY_ROLES, type KeyRole } from "@runseal/core/vocabulary/key-roles"
import { parseUtcSeconds } from "@runseal/log/keys/validity"
import { Argument, type Command } from "commander"
import * as v from "valibot"
import { StartupError } from "./startup-error.ts"
import { SIGNER_URL } from "./values.ts"

/** Lists or changes the signing keys. */
export type KeysCommand = { readonly json: boolean } & (
  | { readonly action: "list" }
  /** `signer`: address of the next service key; absent: it is made in the keys folder. */
  | { readonly action: "rotate"; readonly roles: readonly KeyRole[]; readonly signer?: string }
  /** `from` in Unix seconds. */
  | { readonly action: "revoke"; readonly keyId: string; readonly from: number }
)

/** Lists the folders of heads, or forgets one. */
export type HeadsCommand = { readonly json: boolean } & (
  | { readonly action: "list" }
  | { readonly action: "forget"; readonly folderId: string }
)

/** Confirms the clock of this machine. */
export type ClockCommand = { readonly json: boolean }

/** Clears the search index of declared sections. */
export type IndexCommand = {
  readonly json: boolean
  /** Only of runs admitted before; milliseconds since the epoch. Absent: of all. */
  readonly before?: number
  /** Only of the runs of this API key; 0: of open mode. */
  readonly keyId?: number
}

/** Tries a policy file: lints it, or holds it against cases. */
export type PolicyCommand = { readonly json: boolean; readonly file: string } & (
  | { readonly action: "check" }
  | { readonly action: "test"; readonly cases: string }
)

export type Commands = {
  readonly policyCommand?: PolicyCommand
  readonly keysCommand?: KeysCommand
  readonly headsCommand?: HeadsCommand
  readonly clockCommand?: ClockCommand
  readonly indexCommand?: IndexCommand
}

type Flags = {
  readonly json?: boolean
  readonly before?: string
  readonly key?: string
  readonly from?: string
  readonly signer?: string
}

/** Adds the commands `keys`, `heads`, `clock`, `search-index` and `policy`. @param take receives the command that was given, if one was */
export function addCommands(program: Command, take: (found: Commands) => void): void {
  addKeysCommands(program, keysCommand => take({ keysCommand }))
  addHeadsCommands(program, headsCommand => take({ headsCommand }))
  addClockCommand(program, clockCommand => take({ clockCommand }))
  addIndexCommand(program, indexCommand => take({ indexCommand }))
  addPolicyCommands(program, policyCommand => take({ policyCommand }))
}

/** Adds a command that prints text or, with `--json`, JSON. */
const addPrinting = (parent: Command, words: string, text: string): Command =>
  parent.command(words).description(text).option("--json", "print one JSON object")

function addKeysCommands(program: Command, take: (command: KeysCommand) => void): void {
  const keys = program.command("keys").description("the signing keys of the service and its log")
  addPrinting(keys, "list", "show every key the log ever had and when it counts").action(({ json = false }: Flags) =>
    take({ action: "list", json }),
  )
  addPrinting(keys, "rotate", "make a fresh key and retire the one in force; without a name, all three")
    .addArgument(new Argument("[key]", "which key").choices(KEY_ROLES))
    .option(
      "--signer <url>",
      "address of the signer that holds the next service key; without it, the key is made in the keys folder",
    )
    .action((word: string | undefined, { signer, json = false }: Flags) => {
      const roles = KEY_ROLES.filter(role => (word ?? role) === role)
      if (signer !== undefined && !roles.includes("service"))
        throw new StartupError("--signer is for a change of the service key")
      const address = signer === undefined ? {} : { signer: signerAddress(signer) }
      take({ action: "rotate", roles, ...address, json })
    })
  addPrinting(keys, "revoke <key_id>", "make invalid what a retired key signed from a given time on")
    .requiredOption("--from <time>", "RFC 3339 in UTC, to the second")
    .action((keyId: string, { from = "", json = false }: Flags) => {
      if (!/^[0-9a-f]{64}$/.test(keyId))
        throw new StartupError("keys revoke needs a key id of 64 hex digits, as keys list shows")
      take({ action: "revoke", keyId, from: seconds(from), json })
    })
}

function addHeadsCommands(program: Command, take: (command: HeadsCommand) => void): void {
  const heads = program.command("heads").description("the folders of heads that a database server knows")
  addPrinting(heads, "list", "show every folder, and which ones sealing waits for").action(({ json = false }: Flags) =>
    take({ action: "list", json }),
  )
  const forget = "stop waiting for a folder that is lost; records that only its servers acknowledged are lost"
  addPrinting(heads, "forget <folder_id>", forget).action((folderId: string, { json = false }: Flags) => {
    if (!/^[0-9a-f]{32}$/.test(folderId))
      throw new StartupError("heads forget needs a folder id of 32 hex digits, as heads list shows")
    take({ action: "forget", folderId, json })
  })
}

function addClockCommand(program: Command, take: (command: ClockCommand) => void): void {
  const clock = program.command("clock").description("the clock by which is sealed")
  addPrinting(clock, "confirm", "seal by the clock of this machine as it is now, though it was stepped").action(
    ({ json = false }: Flags) => take({ json }),
  )
}

function addIndexCommand(program: Command, take: (command: IndexCommand) => void): void {
  const index = program
    .command("search-index")
    .description("the search index of what callers declared, and of end users")
  const clear =
    "delete its actors, models, approvers and end users; the records stay, and a search finds them by these no more"
  addPrinting(index, "clear", clear)
    .option("--before <time>", "only of runs admitted before: RFC 3339 in UTC, to the second")
    .option("--key <id>", "only of the runs of this API key; 0 for those of open mode")
    .action(({ before, key, json = false }: Flags) => {
      if (key !== undefined && !/^\d{1,15}$/.test(key)) throw new StartupError("--key must be the number of a key")
      take({
        json,
        ...(before === undefined ? {} : { before: seconds(before, "--before") * 1000 }),
        ...(key === undefined ? {} : { keyId: Number(key) }),
      })
    })
}

function addPolicyCommands(program: Command, take: (command: PolicyCommand) => void): void {
  const policy = program.command("policy").description("a policy document, tried before it is in force")
  addPrinting(policy, "check <file>", "lint a policy, and show its hash and what it decides on examples").action(
    (file: string, { json = false }: Flags) => take({ action: "check", file, json }),
  )
  addPrinting(
    policy,
    "test <file> <cases>",
    "hold a policy against cases; exits with 1 when one is decided otherwise",
  ).action((file: string, cases: string, { json = false }: Flags) => take({ action: "test", file, cases, json }))
}

function signerAddress(text: string): string {
  const parsed = v.safeParse(SIGNER_URL, text)
  if (!parsed.success) throw new StartupError(`--signer ${parsed.issues[0].message}`)
  return parsed.output
}

function seconds(text: string, option = "--from"): number {
  const time = parseUtcSeconds(text)
  if (time === undefined) throw new StartupError(`${option} must be a time such as 2026-11-21T09:57:00Z`)
  return time
}

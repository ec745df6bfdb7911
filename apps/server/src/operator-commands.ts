/** What an operator asks for instead of a start: `keys …`, `heads …`, `clock confirm`, `search-index clear`, and an admin key. Answers are words or JSON. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs"
import type { JsonObject } from "@runseal/canonical"
import type { KeyRole } from "@runseal/core/vocabulary/key-roles"
import { formatUtcSeconds } from "@runseal/log/keys/validity"
import { formatVkey } from "@runseal/log/notes/signed-note"
import type { Logger } from "pino"
import { forgetFolder, type ListedFolder, listFolders } from "./heads/folder-registration.ts"
import { refuseOlder } from "./heads/heads.ts"
import { mintKey } from "./http/access/api-key.ts"
import { checkpointNoteKey } from "./keys/ecdsa-keys.ts"
import type { HeadsCommand, IndexCommand, KeysCommand } from "./options/commands.ts"
import type { Config } from "./options/config.ts"
import { StartupError } from "./options/startup-error.ts"
import { doWithPolicy } from "./policy-commands.ts"
import { createLogger } from "./process-log.ts"
import {
  changeKeys,
  type KeyChangeParts,
  type LogKeyChange,
  listSigningKeys,
  readOrigin,
  revokeRetiredKey,
} from "./sealing/key-change.ts"
import { newConfirmation } from "./sealing/log-clock.ts"
import type { Database } from "./store/driver/database.ts"
import type { IfMissing } from "./store/driver/server-start.ts"
import { OPERATOR_COMMAND, recordAdminEvent } from "./store/tables/admin-events.ts"
import { recordConfirmation } from "./store/tables/clock-confirmations.ts"
import { lockHead } from "./store/tables/log-store.ts"
import { clearDeclaredTerms } from "./store/tables/run-terms.ts"
import type { SigningKeyRow } from "./store/tables/signing-keys.ts"

type Output = { readonly json: JsonObject; readonly lines: readonly string[] }

/** The text for standard output, and the text for standard error. */
type Printed = { readonly out: string; readonly err?: string }

/**
 * Does what was asked for, closes the database and prints what came of it.
 * @param open opens the database; called only if something was asked for
 * @returns whether something was
 * @throws StartupError with one sentence
 */
export async function runCommand(config: Config, open: (ifMissing: IfMissing) => Promise<Database>): Promise<boolean> {
  const {
    mintAdminKey: name,
    secretFile,
    keysCommand,
    headsCommand,
    clockCommand,
    indexCommand,
    policyCommand,
  } = config
  if (policyCommand !== undefined) {
    const output = doWithPolicy(config, policyCommand)
    process.stdout.write(printed(policyCommand, output).out)
    if (!output.passed) process.exitCode = 1
    return true
  }
  const logger = createLogger(config.logLevel, process.stderr)
  const answer = async (db: Database): Promise<Printed> => {
    // What they change would be gone once the newer database comes back. The other commands open the deployment, or act on this very state.
    if ((name ?? indexCommand) !== undefined) await refuseOlder(db, config.keysDir)
    if (name !== undefined) return mintAdminKey(db, name, config)
    if (keysCommand !== undefined)
      return printed(keysCommand, await doWithKeys({ db, config, nowMs: Date.now }, keysCommand))
    if (indexCommand !== undefined) return printed(indexCommand, await clearIndex(db, indexCommand))
    if (clockCommand !== undefined) return printed(clockCommand, await confirmClock(db))
    return headsCommand === undefined ? { out: "" } : printed(headsCommand, await doWithHeads(db, headsCommand, logger))
  }
  if (secretFile !== undefined && name === undefined) throw new StartupError("--secret-file needs --mint-admin-key")
  if ((name ?? keysCommand ?? headsCommand ?? clockCommand ?? indexCommand) === undefined) return false
  // A first admin key may come before the first start of the service.
  const db = await open(name === undefined ? "refuse" : "make")
  const { out, err = "" } = await answer(db).finally(db.close)
  process.stderr.write(err)
  process.stdout.write(out)
  return true
}

const printed = ({ json: asJson }: { readonly json: boolean }, { json, lines }: Output): Printed => ({
  out: asJson ? `${JSON.stringify(json, undefined, 2)}\n` : `${lines.join("\n")}\n`,
})

/** No secret is printed. */
async function doWithKeys(parts: KeyChangeParts, command: KeysCommand): Promise<Output> {
  if (command.action === "rotate") {
    const { signerTokenFile: tokenFile } = parts.config
    const signer = command.signer === undefined ? undefined : { url: command.signer, tokenFile }
    return outputOfChange(await changeKeys(parts, command.roles, signer))
  }
  if (command.action === "revoke")
    return outputOfRevocation(
      keyFacts(await revokeRetiredKey(parts, command.keyId, command.from), await readOrigin(parts)),
    )
  const origin = await readOrigin(parts)
  const keys = (await listSigningKeys(parts)).map(row => keyFacts(row, origin))
  return { json: { keys }, lines: table(keys) }
}

type KeyFacts = {
  readonly role: KeyRole
  readonly key_id: string
  readonly state: "in force" | "retired" | "revoked"
  readonly valid_from: string
  readonly valid_to?: string
  readonly revoked_from?: string
  /** How notes name a checkpoint key. */
  readonly vkey?: string
}

function keyFacts({ role, key_id, spki, valid_from, valid_to, revoked_from }: SigningKeyRow, origin: string): KeyFacts {
  const ended = revoked_from === 0 ? "retired" : "revoked"
  return {
    role,
    key_id,
    state: valid_to === 0 ? "in force" : ended,
    valid_from: formatUtcSeconds(valid_from),
    ...(valid_to === 0 ? {} : { valid_to: formatUtcSeconds(valid_to) }),
    ...(revoked_from === 0 ? {} : { revoked_from: formatUtcSeconds(revoked_from) }),
    ...(role === "checkpoint" ? { vkey: formatVkey(checkpointNoteKey(spki, origin)) } : {}),
  }
}

const COLUMNS = ["role", "state", "valid_from", "valid_to", "revoked_from", "key_id"] as const
const cell = (text: string, width: number): string => text.padEnd(width)

function table(keys: readonly KeyFacts[]): readonly string[] {
  const head = COLUMNS.map(name => name.replace("_", " "))
  const rows = [head, ...keys.map(key => COLUMNS.map(name => key[name] ?? "–"))]
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map(row => row[at]?.length ?? 0)))
  return rows.map(row =>
    row
      .map((text, at) => cell(text, widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  )
}

function outputOfChange({ changed, log_index, log_time, resumed }: LogKeyChange): Output {
  const since = formatUtcSeconds(log_time)
  return {
    json: { changed: changed.map(key => ({ ...key })), log_index, valid_from: since, resumed },
    lines: [
      ...(resumed
        ? ["This finished a change that was interrupted before. Run the command again for another change."]
        : []),
      ...changed.map(
        ({ role, retired, key_id }) => `${cell(role, 10)}  ${key_id} since ${since}, in place of ${retired}`,
      ),
      `Entry ${log_index} of the log names the new keys, signed with the service key before it.`,
      "Now start every process of this deployment again, back up the keys folder, and destroy older copies of it.",
      "Publish the trust document again where readers pin it: records sealed from now on verify with the new one only.",
      ...(changed.some(({ role }) => role === "checkpoint")
        ? ["Tell the witnesses the new checkpoint key (keys list --json, vkey): until then they cosign nothing."]
        : []),
    ],
  }
}

const outputOfRevocation = (key: KeyFacts): Output => ({
  json: key,
  lines: [
    `The ${key.role} key ${key.key_id} is revoked from ${key.revoked_from} on.`,
    "Now start every process of this deployment again, and publish the trust document again where readers pin it.",
    ...WORTH[key.role],
  ],
})

/** What a revocation is worth, by what the key signed. */
const WORTH: Readonly<Record<KeyRole, readonly string[]>> = {
  service: [
    "Records that were logged before still verify, and their report says that the key was revoked later. Only the log states that they",
    "are older: if the log's key was exposed too, compare them with an audited log (verifier log audit --holds).",
  ],
  log: [
    "The log's key itself signs the log time: who holds it can sign older times. Compare older records with an audited log",
    "(verifier log audit --holds), which shows whether they are in the log that others see.",
  ],
  checkpoint: [
    "No checkpoint of this key counts any more, whatever its time. An auditor who stored some still compares the log with them.",
  ],
}

/** What an operator gives up is logged: standard error has the line, since standard output has the answer. */
async function clearIndex(db: Database, { before, keyId }: IndexCommand): Promise<Output> {
  const event = { at: Date.now(), who: OPERATOR_COMMAND, action: "search_index.clear" } as const
  const subject = { kind: "search_index" as const, id: keyId === undefined ? "all" : `api-key-${keyId}` }
  const after = { before: before === undefined ? null : new Date(before).toISOString() }
  await db.transaction(tx => recordAdminEvent(tx, { ...event, subject, after }))
  const { cleared, remaining } = await clearDeclaredTerms(db, before ?? Number.MAX_SAFE_INTEGER, keyId)
  const lines = [`${cleared} entries of declared sections were deleted from the search index; ${remaining} remain.`]
  return { json: { cleared, remaining }, lines }
}

/** What the machine's clock shows is sealed with the log's time, and the next batch goes by it. */
async function confirmClock(db: Database): Promise<Output> {
  const origin = await readOrigin({ db })
  const { machine, log, logTime } = await db.transaction(async tx => {
    const head = await lockHead(tx)
    const facts = { ...(await newConfirmation(tx, head, Date.now())), logTime: head.log_time * 1000 }
    await recordConfirmation(tx, origin, facts)
    return facts
  })
  const [machine_clock, log_clock] = [new Date(machine).toISOString(), new Date(log).toISOString()]
  const goesOn =
    log > machine
      ? `The log is ahead: its clock goes on from ${log_clock}, at nine tenths of the machine's, until the machine's has caught up.`
      : "The log goes on by the machine's clock."
  return {
    json: { machine_clock, log_clock, log_time: new Date(logTime).toISOString() },
    lines: [
      `The machine's clock shows ${machine_clock}; the last entry of the log is of ${new Date(logTime).toISOString()}.`,
      goesOn,
      "A running service seals again within seconds; one that is stopped, when it starts. A wrong confirmation is for ever: log time never goes back.",
    ],
  }
}

async function doWithHeads(db: Database, command: HeadsCommand, logger: Logger): Promise<Output> {
  if (command.action === "forget") {
    const { folder_id, label, size: log_size } = await forgetFolder(db, command.folderId, Date.now())
    logger.warn({ folder_id, label, log_size }, "an operator forgot a folder of heads: sealing no longer waits for it")
    return {
      json: { forgotten: command.folderId },
      lines: [
        `The folder of heads ${command.folderId} is forgotten: sealing no longer waits for it.`,
        "Records that its servers acknowledged and that this database lacks are lost; the log goes on without them.",
        "When those servers start again they detect this and seal nothing. Keep that folder: it is the evidence.",
      ],
    }
  }
  const folders = (await listFolders(db)).map(factsOf)
  return { json: { folders }, lines: folders.flatMap(linesOf) }
}

const factsOf = ({ row, awaited }: ListedFolder) => ({
  folder_id: row.folder_id,
  label: row.label,
  state: awaited ? "awaited" : "held",
  registered_at: formatUtcSeconds(Math.floor(row.registered_at / 1000)),
  system_id: row.system_id,
  timeline: row.timeline,
  log_size: row.size,
  synchronous: row.synchronous,
})

const linesOf = (facts: ReturnType<typeof factsOf>): readonly string[] => [
  `${facts.folder_id}  ${facts.state}  ${facts.label}`,
  `    registered ${facts.registered_at}; held against system ${facts.system_id}, timeline ${facts.timeline}, at ${facts.log_size} entries${facts.synchronous ? ", with a synchronous standby" : ""}`,
]

/**
 * Break-glass: makes an admin key for an operator who has access to the machine and its database. docs/keys-and-backups.md, "Keys of callers".
 * Only the secret goes to standard output, once, so that it can be piped into a secret store; or to a new file. The explanation goes to standard error.
 */
async function mintAdminKey(
  db: Database,
  name: string,
  { secretFile, keyPrefix }: Pick<Config, "secretFile" | "keyPrefix">,
): Promise<Printed> {
  // Made before the key: a secret that cannot be written is not made.
  const file = secretFile === undefined ? undefined : openSecretFile(secretFile)
  try {
    const minted = await mintKey(db, { name, scope: "admin" }, { kind: "operator" }, { at: Date.now(), keyPrefix })
    if (minted === undefined) throw new StartupError("no key was made")
    const err = `runseal: admin key ${minted.id} was made. ${minted.hint}\n`
    if (file === undefined) return { out: `${minted.secret}\n`, err }
    writeSync(file, `${minted.secret}\n`)
    fsyncSync(file)
    return { out: "", err }
  } catch (error) {
    if (secretFile !== undefined && file !== undefined) rmSync(secretFile, { force: true })
    throw error
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** A new file for its owner alone. @throws StartupError where there is one, or none can be made */
function openSecretFile(path: string): number {
  try {
    return openSync(path, "wx", 0o600)
  } catch (cause) {
    throw new StartupError("--secret-file must name a new file in a folder that takes one: no file is overwritten", {
      cause,
    })
  }
}

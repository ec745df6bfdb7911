/** `keys list`, `keys rotate` and `keys revoke`: what an operator does with the signing keys, in words or as JSON. No secret is printed. */
import type { JsonObject } from "@runseal/canonical"
import { formatVkey } from "@runseal/core/transparency-log/signed-note"
import { formatUtcSeconds } from "@runseal/core/transparency-log/trusted-keys"
import { checkpointNoteKey } from "./anchor/keys.ts"
import type { KeysCommand } from "./options/commands.ts"
import type { Config } from "./options/config.ts"
import {
  changeKeys,
  type KeyChange,
  type KeyChangeParts,
  listKeys,
  readOrigin,
  revokeRetiredKey,
} from "./sealing/key-change.ts"
import type { Database } from "./store/driver/database.ts"
import type { KeyRole, SigningKeyRow } from "./store/tables/signing-keys.ts"

type Said = { readonly json: JsonObject; readonly lines: readonly string[] }

/**
 * Does what was asked for, prints it to standard output and closes the database.
 * @throws StartupError with one sentence
 */
export async function runKeysCommand(db: Database, config: Config, command: KeysCommand): Promise<void> {
  const said = await answer({ db, config, nowMs: Date.now }, command).finally(db.close)
  process.stdout.write(command.json ? `${JSON.stringify(said.json, undefined, 2)}\n` : `${said.lines.join("\n")}\n`)
}

async function answer(parts: KeyChangeParts, command: KeysCommand): Promise<Said> {
  if (command.action === "rotate") {
    const { signerTokenFile: tokenFile } = parts.config
    const signer = command.signer === undefined ? undefined : { url: command.signer, tokenFile }
    return saidOfChange(await changeKeys(parts, command.roles, signer))
  }
  if (command.action === "revoke")
    return saidOfRevoked(keyFacts(await revokeRetiredKey(parts, command.keyId, command.from), await readOrigin(parts)))
  const origin = await readOrigin(parts)
  const keys = (await listKeys(parts)).map(row => keyFacts(row, origin))
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

function saidOfChange({ changed, log_index, log_time, resumed }: KeyChange): Said {
  const since = formatUtcSeconds(log_time)
  return {
    json: { changed: changed.map(key => ({ ...key })), log_index, valid_from: since, resumed },
    lines: [
      ...(resumed
        ? ["This finished a change that had been begun before. Give the command again for another one."]
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

const saidOfRevoked = (key: KeyFacts): Said => ({
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
    "Records that were logged before verify on, and say that the key was revoked later. That they are older is the log's word:",
    "was the log's key exposed too, hold them against an audited log (verifier log audit --holds).",
  ],
  log: [
    "The log's key itself signs the log time: who holds it can sign older times. Records of before are to be held against an audited",
    "log (verifier log audit --holds), which shows whether they stand in the log that others see.",
  ],
  checkpoint: [
    "No checkpoint of this key counts any more, of whatever time. An auditor who kept some still holds the log to them.",
  ],
}

/** `heads list` and `heads forget`: what an operator does with the folders of heads that a database knows, in words or as JSON. */
import type { JsonObject } from "@runseal/canonical"
import { formatUtcSeconds } from "@runseal/core/transparency-log/trusted-keys"
import type { HeadsCommand } from "./options/commands.ts"
import { forgetFolder, type ListedFolder, listFolders } from "./sealing/registered-folders.ts"
import type { Database } from "./store/driver/database.ts"

type Said = { readonly json: JsonObject; readonly lines: readonly string[] }

/**
 * Does what was asked for, prints it to standard output and closes the database.
 * @throws StartupError with one sentence
 */
export async function runHeadsCommand(db: Database, command: HeadsCommand): Promise<void> {
  const said = await answer(db, command).finally(db.close)
  process.stdout.write(command.json ? `${JSON.stringify(said.json, undefined, 2)}\n` : `${said.lines.join("\n")}\n`)
}

async function answer(db: Database, command: HeadsCommand): Promise<Said> {
  if (command.action === "forget") {
    await forgetFolder(db, command.folderId)
    return {
      json: { forgotten: command.folderId },
      lines: [
        `The folder of heads ${command.folderId} is forgotten: sealing waits for it no more.`,
        "Whatever its servers acknowledged and this database lacks is lost, and the log goes on in place of it.",
        "They find that out when they come back, and seal nothing: keep that folder, it is the evidence.",
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

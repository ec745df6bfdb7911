/** Every policy that was in force, in order: the highest version is. Rows are never changed, so that all processes come to the same policy. */
import { sha256Hex } from "@runseal/canonical"
import { type POLICY_SOURCES, PROPOSALS_MAX, PROPOSED_FOR_MS } from "@runseal/core/wire/policy-requests"
import { and, desc, eq, gt, lt, lte } from "drizzle-orm"
import { pgTable, text } from "drizzle-orm/pg-core"
import type { Source, Tx } from "../driver/session.ts"
import { type Acts, type NewAdminEvent, recordAdminEvent } from "./admin-events.ts"
import { number, type RowOf } from "./column-types.ts"

export const policy_version = pgTable("policy_version", {
  /** 1, 2, 3 … without a gap. */
  version: number().primaryKey(),
  policy_id: text().notNull(),
  policy_name: text().notNull(),
  /** As the process that loaded it computed it. */
  policy_hash: text().notNull(),
  /** Milliseconds since the epoch. */
  active_since: number(),
  source: text().$type<(typeof POLICY_SOURCES)[number]>().notNull(),
  /** As `admin_event.actor`; "" for the first policy of a deployment, which nobody changed. */
  actor: text().notNull(),
  actor_name: text().notNull(),
  /** RFC 8785 text of the policy document. */
  document: text().notNull(),
})
export type PolicyVersionRow = RowOf<typeof policy_version>

/**
 * Which version a policy hash is of. One document has several: how the scan is set and which engine decides are part of a hash, and processes
 * differ in them.
 */
export const policy_hash = pgTable("policy_hash", {
  policy_hash: text().primaryKey(),
  version: number(),
})

/** Policies that wait until another administrator loads the same document. */
export const policy_proposal = pgTable("policy_proposal", {
  /** SHA-256 of the document, in hex. */
  document_hash: text().primaryKey(),
  /** RFC 8785 text of the policy document. */
  document: text().notNull(),
  policy_id: text().notNull(),
  policy_name: text().notNull(),
  policy_hash: text().notNull(),
  source: text().$type<(typeof POLICY_SOURCES)[number]>().notNull(),
  /** As `admin_event`, of who proposed it. */
  actor: text().notNull(),
  actor_name: text().notNull(),
  actor_issuer: text().notNull(),
  actor_subject: text().notNull(),
  /** Milliseconds since the epoch. */
  proposed_at: number(),
})
export type PolicyProposalRow = RowOf<typeof policy_proposal>

/** Key of the advisory lock under which versions get their numbers: "rspolid" in ASCII, read as a number. */
const POLICY_LOCK = 0x7273706f6c6964

type NewVersion = Omit<PolicyVersionRow, "version" | "active_since" | "actor" | "actor_name">

/** The policy in force; undefined before the first. */
export function newestPolicy(source: Source): Promise<PolicyVersionRow | undefined> {
  return source.read(async ({ orm }) => {
    const [newest] = await orm.select().from(policy_version).orderBy(desc(policy_version.version)).limit(1)
    return newest
  })
}

/** One of the policies that were in force; undefined for a version that there is not. */
export function findPolicy(source: Source, version: number): Promise<PolicyVersionRow | undefined> {
  return source.read(async ({ orm }) => {
    const [found] = await orm.select().from(policy_version).where(eq(policy_version.version, version)).limit(1)
    return found
  })
}

/** The document that is known under a policy hash; undefined where the database does not have it. */
export function documentOf(source: Source, hash: string): Promise<string | undefined> {
  return source.read(async ({ orm }) => {
    const [found] = await orm
      .select({ document: policy_version.document })
      .from(policy_hash)
      .innerJoin(policy_version, eq(policy_version.version, policy_hash.version))
      .where(eq(policy_hash.policy_hash, hash))
      .limit(1)
    return found?.document
  })
}

/** Makes a version known under the hash that a process decides by. Nothing is written where it is known already. */
export async function nameVersion(db: Source & Acts, hash: string, version: number): Promise<void> {
  const known = await db.read(({ orm }) => orm.select().from(policy_hash).where(eq(policy_hash.policy_hash, hash)))
  if (known[0]?.version !== version) await db.transaction(tx => insertHash(tx, hash, version))
}

/** The newest version counts: a standby that takes over may lack one that had the hash. */
const insertHash = ({ orm }: Tx, hash: string, version: number): Promise<unknown> =>
  orm
    .insert(policy_hash)
    .values({ policy_hash: hash, version })
    .onConflictDoUpdate({ target: policy_hash.policy_hash, set: { version } })

/** Newest first. @param before only versions below it */
export function listPolicies(source: Source, limit: number, before?: number): Promise<readonly PolicyVersionRow[]> {
  const { version } = policy_version
  const older = before === undefined ? undefined : lt(version, before)
  return source.read(({ orm }) => orm.select().from(policy_version).where(older).orderBy(desc(version)).limit(limit))
}

/** A version that is in force, and whether this call made it so. */
export type LoadedVersion = { readonly row: PolicyVersionRow; readonly changed: boolean }
/** The same, or a policy that waits for another administrator. */
export type AddedPolicy = LoadedVersion | { readonly proposal: PolicyProposalRow }

/** What a load needs besides: nothing, or that another administrator loads the same document. */
export type Confirmation = "none" | "another_admin"

/** The policies that can be confirmed, the newest first. @param now milliseconds since the epoch */
export function listProposals(source: Source, now: number): Promise<readonly PolicyProposalRow[]> {
  const { proposed_at } = policy_proposal
  return source.read(({ orm }) =>
    orm
      .select()
      .from(policy_proposal)
      .where(gt(proposed_at, now - PROPOSED_FOR_MS))
      .orderBy(desc(proposed_at))
      .limit(PROPOSALS_MAX),
  )
}

/**
 * Makes a policy the one in force, unless its document is already; or proposes it, where another administrator has to load it too.
 * @throws TooManyProposals where no more may wait
 */
export function addPolicy(
  acts: Acts,
  policy: NewVersion,
  who: NewAdminEvent["who"],
  at: number,
  confirmation: Confirmation = "none",
): Promise<AddedPolicy> {
  return acts.transaction(async tx => {
    const before = await lockNewest(tx)
    if (before?.document === policy.document) return { row: before, changed: false }
    const proposal = confirmation === "none" ? undefined : await proposed(tx, policy, who, at)
    if (proposal !== undefined) return { proposal }
    return { row: await insertVersion(tx, policy, before, who, at), changed: true }
  })
}

/** Thrown where as many policies wait to be confirmed as may. */
export class TooManyProposals extends Error {
  override readonly name = "TooManyProposals"
}

/** A start waits for no room among the proposals: the policy before it stays in force. */
function unlessFull(error: unknown): "full" {
  if (error instanceof TooManyProposals) return "full"
  throw error
}

/** The proposal of a policy, made where there is none; undefined where another administrator made it: it is confirmed, and removed. */
async function proposed(
  tx: Tx,
  policy: NewVersion,
  who: NewAdminEvent["who"],
  at: number,
): Promise<PolicyProposalRow | undefined> {
  const { orm } = tx
  await orm.delete(policy_proposal).where(lte(policy_proposal.proposed_at, at - PROPOSED_FOR_MS))
  const waiting = await orm.select().from(policy_proposal)
  const document_hash = sha256Hex(policy.document)
  const found = waiting.find(each => each.document_hash === document_hash)
  if (found !== undefined && isSameActor(found, who)) return found
  if (found !== undefined) {
    await orm.delete(policy_proposal).where(eq(policy_proposal.document_hash, document_hash))
    return undefined
  }
  if (waiting.length >= PROPOSALS_MAX) throw new TooManyProposals()
  const { actor, name: actor_name = "", issuer: actor_issuer = "", subject: actor_subject = "" } = who
  const row = { ...policy, document_hash, actor, actor_name, actor_issuer, actor_subject, proposed_at: at }
  await orm.insert(policy_proposal).values(row)
  const { policy_id, policy_hash, source } = row
  await recordAdminEvent(tx, {
    at,
    who,
    action: "policy.propose",
    subject: { kind: "policy", id: policy_id },
    after: { policy_id, policy_hash, source },
  })
  return row
}

/** One key, one person, or the operator at the machine. */
const isSameActor = (
  { actor, actor_issuer, actor_subject }: PolicyProposalRow,
  { actor: other, issuer = "", subject = "" }: NewAdminEvent["who"],
): boolean => actor === other && actor_issuer === issuer && actor_subject === subject

/**
 * Settles which policy a starting process goes by. A file that no process of this deployment has loaded is new and comes into force; one that
 * was loaded before does not take the place of what came after it. Decision 0186. Where another administrator has to confirm, a new file is proposed,
 * and the policy before it stays in force.
 * @param policy of the file; of the built-in policy where there is none
 */
export function startPolicy(
  acts: Acts,
  policy: NewVersion,
  who: NewAdminEvent["who"],
  at: number,
  confirmation: Confirmation = "none",
): Promise<LoadedVersion> {
  return acts.transaction(async tx => {
    const before = await lockNewest(tx)
    if (before === undefined) return { row: await insertVersion(tx, policy, undefined, undefined, at), changed: true }
    if (policy.source !== "file" || before.document === policy.document) return { row: before, changed: false }
    const { document, source, version } = policy_version
    const [known] = await tx.orm
      .select({ version })
      .from(policy_version)
      .where(and(eq(source, "file"), eq(document, policy.document)))
      .limit(1)
    if (known !== undefined) return { row: before, changed: false }
    const waits = confirmation !== "none" && (await proposed(tx, policy, who, at).catch(unlessFull)) !== undefined
    if (waits) return { row: before, changed: false }
    return { row: await insertVersion(tx, policy, before, who, at), changed: true }
  })
}

async function lockNewest({ sql, orm }: Tx): Promise<PolicyVersionRow | undefined> {
  await sql`select pg_advisory_xact_lock(${POLICY_LOCK}::bigint)`
  const [newest] = await orm.select().from(policy_version).orderBy(desc(policy_version.version)).limit(1)
  return newest
}

async function insertVersion(
  tx: Tx,
  policy: NewVersion,
  before: PolicyVersionRow | undefined,
  who: NewAdminEvent["who"] | undefined,
  at: number,
): Promise<PolicyVersionRow> {
  const { actor = "", name: actor_name = "" } = who ?? {}
  const row = { ...policy, version: (before?.version ?? 0) + 1, active_since: at, actor, actor_name }
  await tx.orm.insert(policy_version).values(row)
  await insertHash(tx, row.policy_hash, row.version)
  if (who !== undefined)
    await recordAdminEvent(tx, {
      at,
      who,
      action: "policy.load",
      subject: { kind: "policy", id: policy.policy_id },
      ...(before === undefined ? {} : { before: stateOf(before) }),
      after: stateOf(row),
    })
  return row
}

/** The document by its hashes: it can be longer than an event. */
const stateOf = ({ version, policy_id, policy_hash, source }: PolicyVersionRow) => ({
  version,
  policy_id,
  policy_hash,
  source,
})

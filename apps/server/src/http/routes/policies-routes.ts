/** Loading, trying and listing policies. docs/api.md, "Policies". */
import { type JsonObject, parseStrictJson } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import {
  DRY_RUN_DEFAULT,
  type DryRunAnswer,
  type FoundPolicy,
  type LoadedPolicy,
  type PoliciesPage,
  type PolicyProposal,
  type PolicyVersion,
  PROPOSED_FOR_MS,
  type ProposedPolicy,
} from "@runseal/core/wire/policy-requests"
import { PAGE_LIMIT_DEFAULT } from "@runseal/core/wire/run-summaries"
import type { Deps } from "../../deps.ts"
import { notFound, unavailable } from "../../http-error.ts"
import {
  findPolicy,
  listPolicies,
  listProposals,
  type PolicyProposalRow,
  type PolicyVersionRow,
} from "../../store/tables/policy-versions.ts"
import { refuseUnlessAdmin } from "../access/authentication.ts"
import { callerOf, whoOf } from "../access/caller.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { refuseNamed } from "./run-views.ts"

/** For administrators, and for auditors who read all keys. */
export function policyHistoryRoutes({ db, nowMs }: Deps): Handlers {
  return {
    list_policies: async (c, { query }) => {
      refuseNamed(c)
      const { limit = PAGE_LIMIT_DEFAULT, before } = query()
      // One more says whether there are more.
      const rows = await listPolicies(db, limit + 1, before)
      const shown = rows.slice(0, limit)
      const next = rows.length > limit ? shown.at(-1)?.version : undefined
      const proposals = before === undefined ? await listProposals(db, nowMs()) : []
      const page = {
        limit,
        policies: shown.map(versionOf),
        ...(proposals.length === 0 ? {} : { proposed: proposals.map(proposalOf) }),
        ...(next === undefined ? {} : { next }),
      }
      return c.json({ ok: true, ...page } satisfies PoliciesPage)
    },
    policy_version: async c => {
      refuseNamed(c)
      const text = c.req.param("version") ?? ""
      const row = /^[1-9]\d{0,14}$/.test(text) ? await findPolicy(db, Number(text)) : undefined
      if (row === undefined) throw notFound("There is no policy of this version.")
      return c.json({ ok: true, ...versionOf(row) } satisfies FoundPolicy)
    },
  }
}

/** For admin keys. */
export function policyRoutes({ policies, acts }: Deps): Handlers {
  return {
    load_policy: async (c, { body }) => {
      refuseUnlessAdmin(c)
      const { policy } = (await body()).request
      const loaded = await policies.load(acts, policy, "api", whoOf(callerOf(c)))
      if ("proposal" in loaded) {
        const answer = { ok: true, ...proposalOf(loaded.proposal) } satisfies PolicyProposal
        return c.json(answer, 202)
      }
      const { row, changed } = loaded
      return c.json({ ok: true, changed, ...versionOf(row) } satisfies LoadedPolicy, changed ? 201 : 200)
    },
    try_policy: async (c, { body }) => {
      const { policy, last = DRY_RUN_DEFAULT } = (await body()).request
      const answer = await policies.dryRun(policy, last)
      if (answer === undefined) throw unavailable("Another dry run is under way. Try again.", "overloaded")
      return c.json(answer satisfies DryRunAnswer)
    },
  }
}

function documentOf({ document, policy_id }: Pick<PolicyVersionRow, "document" | "policy_id">): JsonObject {
  const policy = parseStrictJson(document)
  if (!isObject(policy)) throw new Error(`the stored policy ${policy_id} is unreadable`)
  return policy
}

/** A policy that waits for another administrator. */
function proposalOf(row: PolicyProposalRow): ProposedPolicy {
  const { policy_id, policy_name, policy_hash, actor, actor_name, proposed_at } = row
  return {
    policy_id,
    policy_name,
    policy_hash,
    proposed_by: actor,
    ...(actor_name === "" ? {} : { proposed_by_name: actor_name }),
    expires_at: new Date(proposed_at + PROPOSED_FOR_MS).toISOString(),
    policy: documentOf(row),
  }
}

function versionOf(row: PolicyVersionRow): PolicyVersion {
  const { version, policy_id, policy_name, policy_hash, source, actor, actor_name } = row
  return {
    version,
    policy_id,
    policy_name,
    policy_hash,
    active_since: new Date(row.active_since).toISOString(),
    source,
    ...(actor === "" ? {} : { loaded_by: actor }),
    ...(actor_name === "" ? {} : { loaded_by_name: actor_name }),
    policy: documentOf(row),
  }
}

/**
 * Sixty faults: one wrong comparison, one dropped check or one swapped argument each. None changes only a message, and none leaves the
 * behaviour as it was: each breaks what a page promises.
 */
import type { SeededFault } from "./seeded-fault.ts"

type Row = Omit<SeededFault, "family">

const VERIFY: readonly Row[] = [
  {
    file: "budgets.ts",
    find: 'window.total_after >= window.cap === (outcome === "macc_halt")',
    replace: 'window.total_after > window.cap === (outcome === "macc_halt")',
    what: "A window that reaches its cap halts the run (docs/formats.md 3.9).",
  },
  {
    file: "export-windows.ts",
    find: "ordinal <= below.last)",
    replace: "ordinal < below.last)",
    what: "An export in which a movement of a window is twice fails (docs/formats.md 13).",
  },
  {
    file: "export-permits.ts",
    find: "permit.closed_clock <= opened.close_by",
    replace: 'permit.closed_clock !== ""',
    what: "An export fails in which a permit was closed after its close_by (docs/formats.md 13).",
  },
  {
    file: "rfc6962.ts",
    find: "return proof.length === 0 && equalBytes(root1, root2)",
    replace: "return proof.length === 0",
    what: "Two trees of one size are consistent only with one root (docs/formats.md 8).",
  },
  {
    file: "check-entry.ts",
    find: "revokedFrom === undefined || time < revokedFrom",
    replace: "revokedFrom === undefined || time <= revokedFrom",
    what: "A signature of a revoked key counts only if it was logged before the revocation (docs/formats.md 15).",
  },
  {
    file: "check-entry.ts",
    find: "trust.rekor || entry.logIndex === entry.inclusionProof.logIndex",
    replace: 'trust.rekor || entry.logIndex !== ""',
    what: "The inclusion proof is for the place of the entry in the log (docs/formats.md 16, check 9).",
  },
  {
    file: "validity.ts",
    find: "time <= validTo",
    replace: "time < validTo",
    what: "A key is valid up to its last second, that one included (docs/formats.md 15).",
  },
  {
    file: "verify-opening.ts",
    find: "[total_after < cap,",
    replace: "[total_after <= cap,",
    what: "An opening whose reservation takes the window to its cap does not verify (docs/formats.md 7.8).",
  },
  {
    file: "verify-run-statement.ts",
    find: "admitted <= key.validTo",
    replace: "admitted >= 0",
    what: "A run statement counts only if its key was in use when the run was admitted (docs/formats.md 14).",
  },
  {
    file: "contradictions.ts",
    find: "salts.size === salted.length",
    replace: "salts.size <= salted.length",
    what: "Each declared section has a salt of its own (docs/formats.md 2.2).",
  },
  {
    file: "contradictions.ts",
    find: "receipt.consumed_at_halt > receipt.budget_limit",
    replace: "receipt.consumed_at_halt >= receipt.budget_limit",
    what: "A CCV halt receipt names more tokens than its limit (docs/formats.md 3.5).",
  },
  {
    file: "record-places.ts",
    find: "[isFirst || previous_record !== ZERO_HASH,",
    replace: '[isFirst || previous_record !== "",',
    what: "Each document of a chain but the first names the one before it (docs/formats.md 7.3).",
  },
  {
    file: "anchor-check.ts",
    find: "logTime >= start && logTime <= end",
    replace: "logTime <= end",
    what: "A run is logged within the anchoring window that its leaf seals, and not before it (docs/formats.md 16, check 10).",
  },
  {
    file: "decision.ts",
    find: "finding === undefined || evaluation.decision_reason_code !== MCD_REASON_CODE",
    replace: "finding === undefined",
    what: "The receipt of a deny by a rule names no finding, also where a match was observed (docs/formats.md 3.4).",
  },
  {
    file: "cosignature.ts",
    find: "time === 0 || !Number.isSafeInteger(time)",
    replace: "!Number.isSafeInteger(time)",
    what: "A cosignature of time 0 states no time and does not count (C2SP tlog-cosignature; docs/formats.md 15).",
  },
]

const SEAL: readonly Row[] = [
  {
    file: "ccv.ts",
    find: "if (tokens <= run_limit)",
    replace: "if (tokens < run_limit)",
    what: "A run may use its whole token budget (docs/pipeline.md, Gates).",
  },
  {
    file: "macc.ts",
    find: "total_after >= cap &&",
    replace: "total_after > cap &&",
    what: "A run that takes the window to its cap is halted (docs/pipeline.md, Gates).",
  },
  {
    file: "macc.ts",
    find: "(reserved === undefined || tokens > reserved)",
    replace: "reserved === undefined",
    what: "A close that used more than it reserved is held to the cap (docs/pipeline.md, Permits).",
  },
  {
    file: "pepg.ts",
    find: 'policy.signature_scan.mode === "observe"',
    replace: 'policy.signature_scan.mode === "enforce"',
    what: "A signature match denies where the scan enforces, and only there (docs/policy-and-review.md).",
  },
  {
    file: "pepg.ts",
    find: "facts: { ...sections.policy_evaluation.facts, tokens }",
    replace: "facts: { ...sections.policy_evaluation.facts }",
    what: "A close is decided on the tokens that were used (docs/pipeline.md, Permits).",
  },
  {
    file: "reviewer.ts",
    find: '      throw new StageFailure({ stage: "AIVP_T4", message }, cause)',
    replace:
      '      if (message === "") throw cause\n      return { ...names, decision_kind: "release", decision_reason: "NO_FINDINGS", rule_ids: [], finding_count: 0 }',
    what: "A reviewer that fails is never a release (docs/pipeline.md, Gates).",
  },
  {
    file: "settle-permits.ts",
    find: " && !taken.has(permitId) ? found",
    replace: " ? found",
    what: "A permit is closed once, also by two requests of one batch (docs/api.md, POST /permits/{id}/close).",
  },
  {
    file: "settle-permits.ts",
    find: "if (permit.expires_at <= at)",
    replace: "if (permit.close_by <= at)",
    what: "A permit is redeemed before it expires (docs/api.md, POST /permits/{id}/redeem).",
  },
  {
    file: "settle-permits.ts",
    find: "permit.close_by >= book.now",
    replace: "permit.expires_at >= book.now",
    what: "A permit is not ended before its close_by (docs/pipeline.md, Permits).",
  },
  {
    file: "settle-permits.ts",
    find: "Math.min(used, reserved) - reserved",
    replace: "used - reserved",
    what: "What a close used beyond its reservation is charged once (docs/formats.md 3.9).",
  },
  {
    file: "settle-permits.ts",
    find: 'if (!book.isActive(tenant.owner)) refuse("revoked")',
    replace: "",
    what: "A key that was revoked opens no permit (docs/api.md, Keys).",
  },
  {
    file: "settle-permits.ts",
    find: ">= OPEN_PERMITS_MAX",
    replace: "> OPEN_PERMITS_MAX",
    what: "A key has at most 1,000 open permits (docs/api.md, POST /permits).",
  },
  {
    file: "heads.ts",
    find: "if (roots.get(known.size) !== known.root)",
    replace: "if (known.size > head.size)",
    what: "A log that was forked from one that was acknowledged is never continued (docs/security-model.md).",
  },
  {
    file: "decide.ts",
    find: "erring === undefined ? ruled",
    replace: 'erring === undefined || decision === "allow" ? ruled',
    what: "A rule that meets an error denies, whatever the others say (docs/policy-and-review.md).",
  },
  {
    file: "decide.ts",
    find: "act.unreadable.length > 0)",
    replace: "act.unreadable.length > 1)",
    what: "An act that cannot be read is denied (docs/formats.md 2.6).",
  },
]

const ACCESS: readonly Row[] = [
  {
    file: "authentication.ts",
    find: "isCsrfToken(c.req.header(CSRF_HEADER), session)",
    replace: "c.req.header(CSRF_HEADER) !== undefined",
    what: "A request with a session that changes something has the token of that session (docs/api.md, Sessions).",
  },
  {
    file: "authentication.ts",
    find: '=== "auditor" && !READS.has(c.req.method)',
    replace: '=== "auditor" && c.req.method === "DELETE"',
    what: "The key of an auditor reads and verifies, and does nothing (docs/api.md, Keys).",
  },
  {
    file: "authentication.ts",
    find: '  if (scope === "auditor") throw adminKeyRequired("the key of an auditor")\n',
    replace: "",
    what: "The key of an auditor is no admin key (docs/api.md, Keys).",
  },
  {
    file: "caller.ts",
    find: "{ window_tokens: own.window_token_budget }",
    replace: "{ window_tokens: own.run_token_budget }",
    what: "A key's own window budget holds for its runs (docs/api.md, POST /admin/keys).",
  },
  {
    file: "idempotency.ts",
    find: "    if (stored.request_digest !== request_digest) throw anotherRequest(stored.record_id)\n",
    replace: "",
    what: "An idempotency key with another body is refused (docs/api.md, Sending a request again).",
  },
  {
    file: "idempotency.ts",
    find: "identityOf(callerOf(c))",
    replace: '"everybody"',
    what: "An idempotency key belongs to its caller (docs/api.md, Sending a request again).",
  },
  {
    file: "idempotency.ts",
    find: "      if (claimed.has(claim.key_hash)) throw stillUnderWay()\n",
    replace: "",
    what: "A second request under a key is refused while the first is under way (docs/api.md, Sending a request again).",
  },
  {
    file: "sessions.ts",
    find: "used_after: nowMs - SESSION_IDLE_MS",
    replace: "used_after: nowMs - SESSION_MAX_MS",
    what: "A session ends that is not used for 30 minutes (docs/api.md, Sessions).",
  },
  {
    file: "trial-quota.ts",
    find: "if (leftNoRecord(error)) await",
    replace: "if (!leftNoRecord(error)) await",
    what: "A request that left no record does not count for the quota of its trial key (docs/api.md, Limits).",
  },
  {
    file: "rate-limit.ts",
    find: "admitted: place <= limit",
    replace: "admitted: place < limit",
    what: "As many requests a minute are answered as the limit says (docs/api.md, Limits).",
  },
  {
    file: "rate-limit.ts",
    find: "(caller.rate_limit ?? config.rateLimit)",
    replace: "config.rateLimit",
    what: "A key's own rate limit holds for its requests (docs/api.md, POST /admin/keys).",
  },
  {
    file: "shares-routes.ts",
    find: 'callerOf(c).scope === "admin" ? undefined : sharingKey(c).api_key_id',
    replace: "undefined",
    what: "An auditor ends only the links that it made (docs/api.md, Shared records).",
  },
  {
    file: "shares-routes.ts",
    find: "else if (caller.share !== true)",
    replace: 'else if (caller.scope !== "auditor")',
    what: "An auditor shares only where its key may (docs/api.md, Shared records).",
  },
  {
    file: "keys-routes.ts",
    find: "if (at <= nowMs)",
    replace: "if (at < 0)",
    what: "A key is not given an expiry that is over (docs/api.md, PATCH /admin/keys/{id}).",
  },
  {
    file: "claim-routes.ts",
    find: "if (claim.key_id !== key_id)",
    replace: "if (claim.key_id < 0)",
    what: "The runs of open mode are given to one key, once (docs/api.md, POST /admin/runs/claim).",
  },
]

const STORE: readonly Row[] = [
  {
    file: "api-keys.ts",
    find: " and overlap_until > ",
    replace: " and 0 < ",
    what: "The secret before a rotation works until the overlap ends (docs/api.md, POST /admin/keys/{id}/rotate).",
  },
  {
    file: "api-keys.ts",
    find: "= 'anonymous' then count(*) = 0",
    replace: "= 'anonymous' then true",
    what: "Only the first key is made without a key (docs/api.md, Keys).",
  },
  {
    file: "api-keys.ts",
    find: " secret_hash from api_key where revoked_at = 0 and (expires_at = 0",
    replace: " secret_hash from api_key where revoked_at = 0 and (true",
    what: "A key that has expired is refused (docs/api.md, Keys).",
  },
  {
    file: "permits-table.ts",
    find: " and state = 'open') as open",
    replace: ") as open",
    what: "Only open permits count for the most that a key may have (docs/api.md, POST /permits).",
  },
  {
    file: "shares-table.ts",
    find: "gt(share.expires_at, at), ",
    replace: "",
    what: "A link ends at its time (docs/api.md, Shared records).",
  },
  {
    file: "shares-table.ts",
    find: "{api_key.share} and case",
    replace: "{api_key.share} is not null and case",
    what: "A link ends when its auditor may not share any more (docs/api.md, Shared records).",
  },
  {
    file: "shares-table.ts",
    find: "if (found?.revoked_at !== 0) return found !== undefined",
    replace: "if (found === undefined) return false",
    what: "Ending a link again changes nothing and is no second event (docs/api.md, Shared records).",
  },
  {
    file: "tenant-windows.ts",
    find: "if (!result?.ok || earlier.has(charge)) return []",
    replace: "if (!result?.ok) return []",
    what: "A retry is charged once (docs/api.md, Sending a request again).",
  },
  {
    file: "tenant-windows.ts",
    find: "  a.window_start === b.window_start &&\n",
    replace: "",
    what: "A retry in a later window is charged in that window (docs/formats.md 3.9).",
  },
  {
    file: "runs-table.ts",
    find: "created_at < $",
    replace: "created_at <= $",
    what: "A search has no run from after its end (docs/api.md, GET /runs/search).",
  },
  {
    file: "run-claims.ts",
    find: "run_claim where key_id = ",
    replace: "run_claim where key_id <> ",
    what: "Only the key that has the claim reads the runs of open mode (docs/api.md, POST /admin/runs/claim).",
  },
  {
    file: "sessions-table.ts",
    find: ", gt(session.opened_at, opened_after))",
    replace: ")",
    what: "A session ends after twelve hours, however much it is used (docs/api.md, Sessions).",
  },
  {
    file: "admin-events.ts",
    find: "  if (count === 0) throw new AlreadyDone()\n",
    replace: "",
    what: "An action under an idempotency key is done once (docs/api.md, Sending a request again).",
  },
  {
    file: "permits-table.ts",
    find: '("$2::bigint", "permit.owner")',
    replace: '("$2::bigint", "$2::bigint")',
    what: "A permit is not there for another key (docs/api.md, GET /permits/{id}).",
  },
  {
    file: "trial-admissions.ts",
    find: "if (runs >= cap.runs)",
    replace: "if (runs > cap.runs)",
    what: "A trial key is admitted to 5,000 runs in 30 days (docs/api.md, Limits).",
  },
]

export const SEEDED_FAULTS: readonly SeededFault[] = [
  ...VERIFY.map(row => ({ family: "verify" as const, ...row })),
  ...SEAL.map(row => ({ family: "seal" as const, ...row })),
  ...ACCESS.map(row => ({ family: "access" as const, ...row })),
  ...STORE.map(row => ({ family: "store" as const, ...row })),
]

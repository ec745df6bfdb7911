/** The checks of a verification in four sentences, for readers who do not know the checks. */
import type { Check, CheckId, CheckResult } from "../verify/report.ts"

/** What the checks of a group show together. */
export type GroupFinding = { readonly result: CheckResult; readonly sentence: string }

type Group = {
  readonly checks: readonly CheckId[]
  /** Without one of these that passed, the others show nothing. */
  readonly shownBy?: readonly CheckId[]
  /** For each result; it claims no more than its checks show. */
  readonly sentences: Readonly<Record<CheckResult, string>>
}

const NOT_HELD = "Nothing of the kind to check in this document"

const GROUPS: readonly Group[] = [
  {
    checks: ["shape", "sections", "manifest", "transcript", "bundle_hash"],
    sentences: {
      pass: "Unchanged: each value has the hash that the record names",
      fail: "Changed, or not whole: a value does not have the hash that the record names",
      withheld: "Unchanged: each value has its hash. Of what the holder withheld, the hash alone was checked",
      absent: NOT_HELD,
    },
  },
  {
    checks: ["decision", "executions"],
    sentences: {
      pass: "Its outcome follows from what it says that the gates read",
      fail: "Its outcome does not follow from what it says that the gates read",
      withheld: "Its outcome follows from what it shows; a part is withheld",
      absent: "It has no decision to follow",
    },
  },
  {
    checks: ["leaf", "entry", "inclusion", "complete_record", "signature", "report_signature"],
    shownBy: ["entry", "signature", "report_signature"],
    sentences: {
      pass: "Signed with keys that you trust",
      fail: "Not signed with keys that you trust, or not in their log as it says",
      withheld: NOT_HELD,
      absent: "Signed by nobody: it names no entry of a log",
    },
  },
  {
    checks: ["log_time", "outside", "witnessed"],
    shownBy: ["log_time"],
    sentences: {
      pass: "Its time is that of its log entry, within 600 seconds",
      fail: "Its time, or what others signed of the log, does not agree with it",
      withheld: NOT_HELD,
      absent: "No log entry gives it a time",
    },
  },
]

/** A group is as bad as its worst check; a check without anything to check decides nothing. */
const WORST_FIRST: readonly CheckResult[] = ["fail", "withheld", "pass"]

/** Four findings: unchanged, decided so, signed and in the log, and when. */
export function groupFindings(checks: readonly Check[]): readonly GroupFinding[] {
  const passed = (id: CheckId): boolean => checks.some(check => check.id === id && check.result === "pass")
  const more: readonly string[] = [
    "",
    "",
    passed("inclusion") ? ", and in the log" : "",
    passed("witnessed") ? ". Witnesses signed the log" : passed("outside") ? ". Another log holds it too" : "",
  ]
  return GROUPS.map((group, i) => {
    const results = checks.filter(({ id }) => group.checks.includes(id)).map(({ result }) => result)
    const worst = WORST_FIRST.find(one => results.includes(one)) ?? "absent"
    const shown = group.shownBy === undefined || group.shownBy.some(passed)
    const result = worst === "pass" && !shown ? "absent" : worst
    const also = result === "pass" ? (more[i] ?? "") : ""
    return { result, sentence: `${group.sentences[result]}${also}.` }
  })
}

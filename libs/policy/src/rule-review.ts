/**
 * What a rule rests on, and mistakes that people make in rules, for the author of a policy. It reads the form of a condition, not its
 * values: a warning is about what callers can do, whatever they do today. docs/policy-and-review.md, "Mistakes that people make";
 * decision 0324.
 */
import { type ActTable, isRouteOf } from "@runseal/core/act/act-table"
import type { ContextReads } from "@runseal/core/formulas/policy-context"
import { CONTEXT_WORDS, type ContextWord } from "@runseal/core/vocabulary/decision-codes"
import type { PolicyDocument, PolicyRule } from "@runseal/core/wire/policy-document-schema"
import { cedar } from "./cedar-engine.node.ts"
import { contextPath, contextReads, unknownReads } from "./context-reads.ts"
import type { CompiledPolicy } from "./load-policy.ts"

/** One rule: what it reads, by whose word that is, and what is seldom meant so. */
export type RuleReview = {
  readonly rule_id: string
  readonly effect: PolicyRule["effect"]
  readonly rests_on: readonly { readonly word: ContextWord; readonly attributes: readonly string[] }[]
  /** Each is a sentence without its full stop that begins with the rule's id. */
  readonly warnings: readonly string[]
}

/** A node of a condition in Cedar's JSON form: an object `{operator: operands}`. */
type Expression = unknown

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The operator and its operands. */
const nodeOf = (expression: Expression): readonly [operator: string, operands: Readonly<Record<string, unknown>>] => {
  const [[operator, operands] = ["", {}]] = isRecord(expression) ? Object.entries(expression) : []
  return [operator, isRecord(operands) ? operands : {}]
}

const readsOf = (expression: Expression): ContextReads => contextReads([expression]) ?? new Set()
/** The same without the record that is asked for before its attributes. */
function attributesOf(expression: Expression): readonly string[] {
  const paths = [...readsOf(expression)].toSorted()
  return paths.filter(path => !paths.some(other => other.startsWith(`${path}.`)))
}
const isDeclared = (path: string): boolean => path.startsWith("declared.")

/** Whether declarations alone can make an expression true, and whether they can make it false, whatever act, permit and service say. */
type Declarable = { readonly yes: boolean; readonly no: boolean }

function declarable(expression: Expression): Declarable {
  const [operator, operands] = nodeOf(expression)
  switch (operator) {
    case "Value": {
      const value = isRecord(expression) ? expression.Value : undefined
      return { yes: value === true, no: value === false }
    }
    case "!": {
      const { yes, no } = declarable(operands.arg)
      return { yes: no, no: yes }
    }
    case "&&":
    case "||": {
      const [left, right] = [declarable(operands.left), declarable(operands.right)]
      return operator === "&&"
        ? { yes: left.yes && right.yes, no: left.no || right.no }
        : { yes: left.yes || right.yes, no: left.no && right.no }
    }
    case "if-then-else": {
      const [asked, then, otherwise] = [declarable(operands.if), declarable(operands.then), declarable(operands.else)]
      const can = (which: "yes" | "no"): boolean =>
        (asked.yes && then[which]) || (asked.no && otherwise[which]) || (then[which] && otherwise[which])
      return { yes: can("yes"), no: can("no") }
    }
    default: {
      const can = [...readsOf(expression)].some(isDeclared)
      return { yes: can, no: can }
    }
  }
}

/** A comparison in a condition. */
type Comparison = {
  readonly operator: string
  readonly operands: Readonly<Record<string, unknown>>
  /** What the condition rather is where the comparison is true: of one in a `!` false, of one behind an `if` either. */
  readonly makes: readonly boolean[]
  /** The attribute that it compares, as `act.path`; undefined for none or several. */
  readonly attribute: string | undefined
}

function comparisonsOf(expression: Expression, makes: readonly boolean[] = [true]): readonly Comparison[] {
  const [operator, operands] = nodeOf(expression)
  const { left, right } = operands
  switch (operator) {
    case "!":
      return comparisonsOf(
        operands.arg,
        makes.map(made => !made),
      )
    case "&&":
    case "||":
      return [...comparisonsOf(left, makes), ...comparisonsOf(right, makes)]
    case "if-then-else":
      return [
        ...comparisonsOf(operands.if, [true, false]),
        ...[operands.then, operands.else].flatMap(branch => comparisonsOf(branch, makes)),
      ]
    default: {
      const paths = attributesOf(expression)
      return [{ operator, operands, makes, attribute: paths.length === 1 ? paths[0] : undefined }]
    }
  }
}

/** A rule as it is reviewed. */
type Reviewed = {
  readonly rule: PolicyRule
  readonly condition: Expression
  readonly table: ActTable | undefined
  readonly comparisons: readonly Comparison[]
}

/** What a review needs of a policy. It is not compiled for it. */
type ReadPolicy = Pick<CompiledPolicy, "document" | "texts">

function reviewed(rule: PolicyRule, { document, texts }: ReadPolicy): Reviewed {
  const parsed = cedar().policyToJson(texts[rule.id] ?? "")
  const condition = parsed.type === "success" ? parsed.json.conditions.at(-1)?.body : undefined
  const table = document.acts?.find(({ name }) => name === rule.act)
  return { rule, condition, table, comparisons: comparisonsOf(condition) }
}

/** Whether a run is let through rather where the comparison is true, and whether it is stopped; behind an `if` both. */
const passes = ({ rule }: Reviewed, { makes, operator }: Comparison, passed: boolean): boolean =>
  makes.some(made => ((rule.effect === "allow") === (operator === "!=" ? !made : made)) === passed)
const letsThrough = (each: Reviewed, comparison: Comparison): boolean => passes(each, comparison, true)
const stops = (each: Reviewed, comparison: Comparison): boolean => passes(each, comparison, false)

const listed = (names: Iterable<string | undefined>): string =>
  [...new Set([...names].filter(name => name !== undefined))].toSorted().join(", ")

function declaredAlone({ rule: { id, effect }, condition }: Reviewed): readonly string[] {
  const read = listed(attributesOf(condition).filter(isDeclared))
  if (read === "") return []
  const { yes, no } = declarable(condition)
  if (effect === "allow" && yes)
    return [`${id} allows what a caller only has to declare: declarations alone make it true (${read})`]
  if (effect === "require_approval" && no)
    return [
      `${id} requires no approval of a caller that declares otherwise: declarations alone make it false (${read})`,
    ]
  if (effect === "deny" && no)
    return [`${id} does not deny a caller that declares otherwise: declarations alone make it false (${read})`]
  return []
}

/** A condition may ask with `has` for what there is not: the answer is always no. */
function askedInVain({ rule, condition }: Reviewed, { acts = [] }: PolicyDocument): readonly string[] {
  const unknown = unknownReads([condition], { acts, ...(rule.act === undefined ? {} : { act: rule.act }) })
  return unknown.length === 0 ? [] : [`${rule.id} asks for what no run has: there is no attribute ${listed(unknown)}`]
}

type PatternPart = "Wildcard" | { readonly Literal: string }
const isPattern = (value: unknown): value is readonly PatternPart[] => Array.isArray(value)
const likesOf = (each: Reviewed): readonly (Comparison & { readonly pattern: readonly PatternPart[] })[] =>
  each.comparisons.flatMap(comparison => {
    const { pattern } = comparison.operands
    return comparison.operator === "like" && isPattern(pattern) ? [{ ...comparison, pattern }] : []
  })
const textOf = (pattern: readonly PatternPart[]): string =>
  pattern.map(part => (part === "Wildcard" ? "*" : part.Literal)).join("")

function openPatterns(each: Reviewed): readonly string[] {
  const open = likesOf(each).filter(
    like => letsThrough(each, like) && like.pattern[0] === "Wildcard" && !like.attribute?.startsWith("verified."),
  )
  const { id } = each.rule
  return open.length === 0
    ? []
    : [
        `${id} lets through whatever ends as a pattern says (${listed(open.map(({ attribute }) => attribute))}): begin the pattern with a text, or list what is allowed`,
      ]
}

/** A pattern like `/srv/*` also fits `/srv/../etc`. */
function climbingPaths(each: Reviewed, all: readonly Reviewed[]): readonly string[] {
  const stopped = new Set(
    all.flatMap(other =>
      likesOf(other)
        .filter(like => stops(other, like) && textOf(like.pattern).includes(".."))
        .map(({ attribute }) => attribute),
    ),
  )
  const open = likesOf(each).filter(
    like =>
      letsThrough(each, like) &&
      textOf(like.pattern).endsWith("/*") &&
      like.attribute?.startsWith("act.") === true &&
      !stopped.has(like.attribute),
  )
  return open.length === 0
    ? []
    : [
        `${each.rule.id} lets through paths that climb out with .. (${listed(open.map(({ attribute }) => attribute))}): deny what is like "*..*"`,
      ]
}

/** Whether a text of the act can be written in more than one way that a reader takes for the same. */
function isFree({ table }: Reviewed, attribute: string | undefined): boolean {
  const row = table?.names[attribute?.replace("act.", "") ?? ""]
  return row?.type === "string" || (row?.type === "strings" && row.case === undefined)
}
const EQUALITIES: readonly string[] = ["==", "!=", "contains", "containsAll", "containsAny"]

function evadedTexts(each: Reviewed): readonly string[] {
  const evaded = each.comparisons.filter(
    comparison =>
      EQUALITIES.includes(comparison.operator) && stops(each, comparison) && isFree(each, comparison.attribute),
  )
  return evaded.length === 0
    ? []
    : [
        `${each.rule.id} stops a text in one spelling only (${listed(evaded.map(({ attribute }) => attribute))}): another case, a blank or a letter that resembles another passes; allow what is known, or give the name the type ascii with a case`,
      ]
}

/** What may be left out stops nothing where it is: a number, and a person whose token is not presented. */
function absentValues(each: Reviewed, all: readonly Reviewed[]): readonly string[] {
  const asksFor = (other: Reviewed, how: typeof stops): readonly (string | undefined)[] =>
    other.comparisons
      .filter(has => has.operator === "has" && how(other, has))
      .map(has => contextPath({ has: has.operands })?.join("."))
  const refused = new Set(
    all.filter(({ rule }) => rule.act === each.rule.act).flatMap(other => asksFor(other, letsThrough)),
  )
  const absent = asksFor(each, stops)
  const open = absent.filter(name => {
    const row = each.table?.names[name?.replace("act.", "") ?? ""]
    return (row?.type === "decimal" || row?.type === "integer") && !refused.has(name)
  })
  const { id } = each.rule
  return [
    ...(open.length === 0
      ? []
      : [`${id} stops nothing where the number is left out (${listed(open)}): make the name required`]),
    ...(absent.includes(END_USER) && !refused.has(END_USER)
      ? [
          `${id} stops nothing where no end user's token is presented: deny with !(context.verified has end_user), or start with --end-user required`,
        ]
      : []),
  ]
}
const END_USER = "verified.end_user"

/** An allow of routes among which some are read by a table, and others by none. */
function unreadRoutes({ rule: { id, effect, act, routes = [] } }: Reviewed, { acts = [] }: PolicyDocument) {
  if (effect !== "allow" || act !== undefined) return []
  const read = acts.flatMap(table => table.routes)
  const wide = routes.filter(
    route => !read.includes(route) && read.some(known => known !== route && isRouteOf(route, known)),
  )
  return wide.length === 0
    ? []
    : [
        `${id} allows routes beside those of a table, and nothing of their payloads is read (${listed(wide)}): name the act`,
      ]
}

function everyRoute({ rule: { id, effect, act, routes, when } }: Reviewed, all: readonly Reviewed[]) {
  if (effect !== "allow" || (act ?? routes ?? when) !== undefined) return []
  const byRoute = all.filter(
    ({ rule, condition }) => rule.routes !== undefined || readsOf(condition).has("bound.route_id"),
  )
  return byRoute.length === 0
    ? []
    : [
        `${id} allows every route, and callers choose it: ${listed(byRoute.map(({ rule }) => rule.id))} can be passed by under another name`,
      ]
}

function restsOn({ rule, condition }: Reviewed): RuleReview["rests_on"] {
  const byRoute = rule.act !== undefined || rule.routes !== undefined
  const reads = [...new Set([...attributesOf(condition), ...(byRoute ? ["bound.route_id"] : [])])]
  return CONTEXT_WORDS.flatMap(word => {
    const attributes = reads.filter(path => path.startsWith(`${word}.`))
    return attributes.length === 0 ? [] : [{ word, attributes }]
  })
}

/** @returns each rule, in the order of the document */
export function reviewRules(policy: ReadPolicy): readonly RuleReview[] {
  const all = policy.document.rules.map(rule => reviewed(rule, policy))
  return all.map(each => ({
    rule_id: each.rule.id,
    effect: each.rule.effect,
    rests_on: restsOn(each),
    warnings: [
      ...askedInVain(each, policy.document),
      ...declaredAlone(each),
      ...openPatterns(each),
      ...climbingPaths(each, all),
      ...evadedTexts(each),
      ...absentValues(each, all),
      ...unreadRoutes(each, policy.document),
      ...everyRoute(each, all),
    ],
  }))
}

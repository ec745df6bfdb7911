/**
 * How deep a condition is nested. The engine calls itself for each level of an expression, on a stack of its own: where that ends, it
 * answers nothing any more until the process starts anew. So a condition is measured before the engine reads it.
 */

/** A bracket fills this stack as four operators do. */
const BRACKET = 4
const IF = 2

/** 40 brackets in each other, or 200 operators in a row. The engine bears more than one and a half times as much. */
export const MAX_CONDITION_DEPTH = 200

/** Texts and comments, which nest nothing, and every token that does. */
const TOKEN = /"(?:\\.|[^"\\])*"?|\/\/[^\r\n]*|!=|&&|\|\||[()[\]{},.!+*-]|\bif\b|==|[<>]|\b(?:in|like|has|is)\b/gs

/** One pair of brackets, or the whole condition. */
type Group = {
  /** Of what is before the last comma. */
  deepest: number
  /** Operators since then: each one has all before it as its left side. */
  operators: number
  /** The longest row of members and calls since then, and the present one. */
  members: number
  row: number
  /** The deepest bracket since then. */
  inner: number
}

const newGroup = (): Group => ({ deepest: 0, operators: 0, members: 0, row: 0, inner: 0 })

const endItem = (group: Group): number => Math.max(group.deepest, group.operators + group.members + group.inner)

/** At least the depth of the expression that a condition is; of a text that is none, any number. */
export function conditionDepth(condition: string): number {
  const outer: Group[] = []
  let group = newGroup()
  const close = (): void => {
    const parent = outer.pop()
    if (parent === undefined) return
    parent.inner = Math.max(parent.inner, endItem(group) + BRACKET)
    group = parent
  }
  for (const [token] of condition.matchAll(TOKEN)) {
    if (token.startsWith('"') || token.startsWith("//")) continue
    switch (token) {
      case "(":
      case "[":
      case "{":
        group.members = Math.max(group.members, ++group.row)
        outer.push(group)
        group = newGroup()
        break
      case ")":
      case "]":
      case "}":
        close()
        break
      case ",":
        group = { ...newGroup(), deepest: endItem(group) }
        break
      case ".":
        group.members = Math.max(group.members, ++group.row)
        break
      case "if":
        group.operators += IF
        group.row = 0
        break
      case "&&":
      case "||":
      case "!":
      case "+":
      case "*":
      case "-":
        group.operators++
        group.row = 0
        break
      default:
        group.row = 0
    }
  }
  while (outer.length > 0) close()
  return endItem(group)
}

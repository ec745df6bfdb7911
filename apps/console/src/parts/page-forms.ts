/**
 * What is done to the forms of a page when the page is whole. Each form names whom it was made for, and the one that was refused holds what was
 * typed in it. No page does this by itself, so no form can forget it. Decision 0370.
 *
 * The markup is that of this console's templates: every attribute is in double quotes and every value is escaped, so that a tag of a text is
 * no tag.
 */
import type { Markup } from "./markup.ts"

/** A form that was sent and did nothing. */
export type TypedForm = {
  /** Path of its action, with the query. */
  readonly action: string
  /** What was typed in a field; "" where it is absent. */
  readonly field: (name: string) => string
  /** Why it did nothing. */
  readonly notice: Markup
}

type Holder = {
  readonly key_id?: number | undefined
  readonly person?: { readonly issuer: string; readonly subject: string } | undefined
}

/** Whom a session is of: one key, or one person. It is the same in each of its sessions. */
export const holderOf = ({ key_id = 0, person }: Holder): string =>
  person === undefined ? `key ${key_id}` : `${person.issuer} ${person.subject}`

const ATTRIBUTES = '((?:[^">]|"[^"]*")*)'
const FORM = new RegExp(`<form method="post" action="([^"]*)"${ATTRIBUTES}>[\\s\\S]*?</form>`, "g")
const FORM_START = new RegExp(`^<form ${ATTRIBUTES}>`)
const TOKEN = '<input type="hidden" name="csrf"'
const INPUT = new RegExp(`<input\\b${ATTRIBUTES}>`, "g")
const BUTTON = new RegExp(`<button\\b${ATTRIBUTES}>`, "g")
const TEXT_AREA = new RegExp(`(<textarea\\b${ATTRIBUTES}>)[^<]*`, "g")
const SELECT = new RegExp(`(<select\\b${ATTRIBUTES}>)([\\s\\S]*?)(?=</select>)`, "g")
const OPTION = new RegExp(`<option\\b${ATTRIBUTES}>([^<]*)`, "g")
/** The first field that a person sees. */
const FIRST_FIELD = /<(?:input(?! type="hidden")|select|textarea)\b/
/** Fields of the form itself, which nobody types. */
const OWN_FIELDS: readonly string[] = ["csrf", "once", "by"]

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" } as const
const escaped = (text: string): string =>
  Object.entries(ESCAPES).reduce((made, [sign, entity]) => made.replaceAll(sign, entity), text)
/** The ampersand last: it begins the others. */
const unescaped = (text: string): string =>
  Object.entries(ESCAPES)
    .toReversed()
    .reduce((made, [sign, entity]) => made.replaceAll(entity, sign), text)

const attribute = (attributes: string, name: string): string | undefined => {
  const found = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1]
  return found === undefined ? undefined : unescaped(found)
}

/** A browser sends each line break as two characters. */
const lines = (text: string): string => text.replaceAll("\r\n", "\n").trim()

/** Whether a form is the one that was sent: its hidden fields have what was sent, and one of its named buttons too. */
function isSent(form: string, field: TypedForm["field"]): boolean {
  const named = (tag: RegExp): readonly (readonly [name: string, value: string, type: string | undefined])[] =>
    [...form.matchAll(tag)].flatMap(([, attributes = ""]) => {
      const name = attribute(attributes, "name")
      return name === undefined || OWN_FIELDS.includes(name)
        ? []
        : [[name, attribute(attributes, "value") ?? "", attribute(attributes, "type")]]
    })
  const wasSent = ([name, value]: readonly [string, string, unknown]): boolean => lines(field(name)) === lines(value)
  const buttons = named(BUTTON)
  return (
    named(INPUT)
      .filter(([, , type]) => type === "hidden")
      .every(wasSent) &&
    (buttons.length === 0 || buttons.some(wasSent))
  )
}

function filledInput(tag: string, attributes: string, field: TypedForm["field"]): string {
  const [name, type] = [attribute(attributes, "name"), attribute(attributes, "type")]
  if (name === undefined || type === "hidden" || type === "file") return tag
  if (type === "checkbox" || type === "radio") {
    const isChosen = field(name) === (attribute(attributes, "value") ?? "on")
    return `<input${attributes.replace(/\schecked\b/, "")}${isChosen ? " checked" : ""}>`
  }
  return `<input${attributes.replace(/\svalue="[^"]*"/, "")} value="${escaped(field(name))}">`
}

function filledOption(tag: string, attributes: string, text: string, typed: string): string {
  const value = attribute(attributes, "value") ?? unescaped(text)
  if (!tag.startsWith("<option")) return tag
  return `<option${attributes.replace(/\sselected\b/, "")}${value === typed ? " selected" : ""}>${text}`
}

/** The form as it was sent, with the reason on top. What is folded in it is open. */
function filled(form: string, { field, notice }: TypedForm): string {
  return form
    .replaceAll(INPUT, (tag: string, attributes: string) => filledInput(tag, attributes, field))
    .replaceAll(
      TEXT_AREA,
      (_, start: string, attributes: string) => start + escaped(lines(field(attribute(attributes, "name") ?? ""))),
    )
    .replaceAll(SELECT, (_, start: string, attributes: string, options: string) => {
      const typed = field(attribute(attributes, "name") ?? "")
      return (
        start +
        options.replaceAll(OPTION, (tag: string, own: string, text: string) => filledOption(tag, own, text, typed))
      )
    })
    .replaceAll(/<details(?! open)/g, "<details open")
    .replace(FIRST_FIELD, tag => `${tag} autofocus`)
    .replace(FORM_START, start => `${start}${notice}`)
}

/**
 * @param holder whom the page is for
 * @param typed the form that was sent; the page that has no such form any more shows the reason alone
 */
export function withForms(page: string, holder: string, typed: TypedForm | undefined): string {
  let isShown = false
  const made = page.replaceAll(FORM, (form: string, action: string) => {
    const own = form.replace(TOKEN, token => `<input type="hidden" name="by" value="${escaped(holder)}">${token}`)
    if (typed === undefined || isShown || unescaped(action) !== typed.action || !isSent(form, typed.field)) return own
    isShown = true
    return filled(own, typed)
  })
  if (typed === undefined || isShown) return made
  return made.replace(/<main\b[^>]*>/, main => `${main}${typed.notice}`)
}

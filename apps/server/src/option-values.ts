/** Values of options as the command line and the environment hold them. Each refuses in one sentence that names its option. */
import { StartupError } from "./startup-error.ts"

export type Options = Readonly<Record<string, string | undefined>>

/** A whole number within bounds, both included. */
export function integer(options: Options, name: string, flag: string, min: number, max: number): number {
  const text = options[name] ?? ""
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) throw new StartupError(`${flag} must be an integer from ${min} to ${max}`)
  return value
}

/** An address of one of these protocols, without a final slash. */
export function url(options: Options, name: string, flag: string, protocols: readonly string[]): string | undefined {
  const text = options[name]
  if (text === undefined) return undefined
  const parsed = URL.canParse(text) ? new URL(text) : undefined
  if (parsed === undefined || !protocols.includes(parsed.protocol))
    throw new StartupError(`${flag} must be an address starting with ${protocols.join(" or ")}//`)
  return text.replace(/\/+$/, "")
}

/** A text of one form. @param rule what it must be, for the sentence */
export function word(options: Options, name: string, flag: string, accept: RegExp, rule: string): string {
  const text = options[name] ?? ""
  if (!accept.test(text)) throw new StartupError(`${flag} must be ${rule}`)
  return text
}

/** A host name without port. */
export const HOST_NAME: RegExp =
  /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/

/**
 * The declared sections as kernels and policy read them. At a close each is that of the opening with the members that the close adds; the
 * opening has none of these members itself.
 */
import {
  type DeclaredName,
  type DeclaredSection,
  type DeclaredSections,
  isShown,
  type ShownDeclared,
  shown,
} from "../../artifacts/declared-sections.ts"
import { CLOSING_PARTS } from "../../artifacts/permit-sections.ts"
import { isObject, member } from "../../vocabulary/json-members.ts"

/** The declared sections of a record, and at a close what it declares. */
export type DeclaredSources = DeclaredSections & { readonly closing?: DeclaredSection }

export type DeclaredView = Pick<ShownDeclared, "salt" | "declared" | "origin">

/** A declared section with what a close adds; undefined when a part of it is withheld. */
export function declaredView(sources: DeclaredSources, name: DeclaredName): DeclaredView | undefined {
  const opened = shown(sources[name])
  const { closing } = sources
  if (opened === undefined || closing === undefined || !CLOSING_PARTS.some(part => part === name)) return opened
  if (!isShown(closing)) return undefined
  const added = member(closing.declared, name)
  return isObject(added) ? { ...opened, declared: { ...opened.declared, ...added } } : opened
}

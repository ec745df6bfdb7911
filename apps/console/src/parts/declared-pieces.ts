/** What a caller declared, as the pages of a run and of a request for an approval list it. */
import type { JsonObject } from "@runseal/canonical"
import { DECLARED_NAMES, type DeclaredSections, isShown } from "@runseal/core/artifacts/declared-sections"
import { html } from "./markup.ts"

/** A section with content, which is undefined where it is withheld. */
type Declared = { readonly name: string; readonly declared: JsonObject | undefined }

/** The declared sections that hold something. */
export const declaredSections = (sections: DeclaredSections): readonly Declared[] =>
  DECLARED_NAMES.flatMap((key): readonly Declared[] => {
    const section = sections[key]
    const name = key.replaceAll("_", " ")
    if (!isShown(section)) return [{ name, declared: undefined }]
    return section.declared === undefined ? [] : [{ name, declared: section.declared }]
  })

export const NOTHING_DECLARED = html`<p class="quiet">The caller declared nothing beside the payload.</p>`
export const WITHHELD_DECLARED = html`<p class="quiet">Withheld: the record has its hash alone.</p>`

/** All sections of a run: those that its record holds, and those that follow from them. */
import * as v from "valibot"
import type { Shape } from "../vocabulary/scalars.ts"
import { DERIVED_SCHEMAS, type DerivedName, derivedEntries } from "./derived-sections.ts"
import { SEALED_SCHEMAS, type SealedSections, sealedEntries } from "./sealed-sections.ts"

/** One schema for each section. */
export const SECTION_SCHEMAS = { ...SEALED_SCHEMAS, ...DERIVED_SCHEMAS }

/** The derived sections of a run, as far as it has them. */
export type DerivedSections = { readonly [Name in DerivedName]?: Shape<(typeof DERIVED_SCHEMAS)[Name]> }
export type Sections = SealedSections & DerivedSections
export type SectionName = keyof Sections

export const sectionsSchema: v.GenericSchema<unknown, Sections> = v.strictObject({
  ...sealedEntries,
  ...derivedEntries,
})

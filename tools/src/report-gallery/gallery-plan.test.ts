import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { REPORT_FORMATS } from "@runseal/core/wire/runs"
import { expect, test } from "vitest"
import { EXHIBITS, exhibitName, GALLERY } from "./gallery-plan.ts"

const gallery = fileURLToPath(new URL(`../../../${GALLERY}`, import.meta.url))

test("every outcome is shown in brief and comprehensive, a completed run in all four formats", () => {
  const names = EXHIBITS.map(exhibitName)
  for (const outcome of OUTCOME_KINDS)
    expect(names).toEqual(expect.arrayContaining([`${outcome}-brief`, `${outcome}-comprehensive`]))
  for (const format of REPORT_FORMATS) expect(names).toContain(`ok-${format}`)
  expect(new Set(names).size).toBe(names.length)
})

test("the gallery's page shows the pages of every exhibit, and they are there", () => {
  const page = readFileSync(`${gallery}/README.md`, "utf8")
  const pictures = [...page.matchAll(/\]\(([\w-]+\.png)\)/g)].map(([, file = ""]) => file)
  for (const exhibit of EXHIBITS)
    expect(
      pictures.some(file => file.startsWith(`${exhibitName(exhibit)}-`)),
      exhibitName(exhibit),
    ).toBe(true)
  for (const file of pictures) expect(existsSync(`${gallery}/${file}`), file).toBe(true)
})

import { describe, expect, test } from "vitest"
import { readText, repositoryPaths } from "../rooms/repository-files.ts"

const FOLDER = "docs/decisions/"
const names = repositoryPaths()
  .filter(path => path.startsWith(FOLDER) && path !== `${FOLDER}README.md`)
  .map(path => path.slice(FOLDER.length))
const numbers = names.map(name => name.slice(0, 4))
const HEAD = /^# (\d{4}) (.+)\n\nStatus: (.+)\nDate: (\d{4}-\d{2}-\d{2})\n\n/
const STATUS = /^(?:accepted(?:, amended by (.+))?|superseded by (.+))$/

describe.each(names)("%s", name => {
  const [, number = "", , status = "", date = ""] = HEAD.exec(readText(FOLDER + name)) ?? []

  test("begins with its number, status and date", () => {
    expect(name).toMatch(/^\d{4}-[a-z0-9-]+\.md$/)
    expect(number).toBe(name.slice(0, 4))
    expect(status).toMatch(STATUS)
    expect(new Date(date).toISOString().slice(0, 10)).toBe(date)
  })

  test("names later records that exist", () => {
    const [, amended, superseded] = STATUS.exec(status) ?? []
    for (const other of (amended ?? superseded)?.split(/, | and /) ?? []) expect(numbers).toContain(other)
  })
})

test("no number stands twice", () => {
  expect(new Set(numbers).size).toBe(numbers.length)
})

test("the index has every record once, under its title", () => {
  const rows = readText(`${FOLDER}README.md`).matchAll(/^- \[(\d{4})\]\((.+)\) (.+)$/gm)
  const listed = [...rows].map(([, number = "", file = "", title = ""]) => `${file}: # ${number} ${title}`)
  const expected = names.map(name => `${name}: ${readText(FOLDER + name).split("\n")[0]}`)
  expect(listed.toSorted()).toEqual(expected.toSorted())
})

import { expect, test } from "vitest"
import { readOptions } from "./bench-options.ts"

const PARTS = ["execute", "memory"]

test("without options all usual parts are measured and nothing is written", () => {
  expect(readOptions([], PARTS)).toEqual({
    quick: false,
    write: false,
    help: false,
    peers: false,
    minutes: 10,
    parts: [],
  })
})

test("parts are chosen by their names, beside options", () => {
  const options = readOptions(["--write", "memory", "--minutes", "240"], PARTS)
  expect(options).toMatchObject({ write: true, minutes: 240, parts: ["memory"] })
})

test.each([
  [["memroy"], 'There is no part "memroy" (see --help).'],
  [["--minutes", "0"], "--minutes is a whole number from 1 to 240."],
  [["--minutes", "241"], "--minutes is a whole number from 1 to 240."],
  [["--minutes", "ten"], "--minutes is a whole number from 1 to 240."],
  [["--against", "HEAD", "--write"], "--write stores what is measured of this checkout alone: leave --against out."],
  [["--fast"], expect.stringContaining("--fast")],
])("%j is refused in a sentence", (argv, misuse) => {
  expect(readOptions(argv, PARTS)).toEqual({ misuse })
})

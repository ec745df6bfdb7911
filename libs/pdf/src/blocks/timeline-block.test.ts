import { expect, test } from "vitest"
import type { TimelineBlock } from "../block.ts"
import { documentFonts } from "../fonts/document-fonts.ts"
import { colour, newPen } from "../page/pen.ts"
import { HAIRLINE, INK, STYLES } from "../page/style.ts"
import { rootNode } from "../tags/structure.ts"
import { timelineStrips } from "./timeline-block.ts"

type State = TimelineBlock["steps"][number]["state"]

/** The lines between the steps, in their order: whether each is drawn as a way that the run took. */
function waysOf(states: readonly State[]): readonly boolean[] {
  const steps = states.map((state, at) => ({ kind: "stage", code: `S${at}`, label: "a step", state }) as const)
  const place = { node: rootNode(), outline: [], style: STYLES.compact }
  const pen = newPen(0, documentFonts())
  for (const { draw } of timelineStrips({ kind: "timeline", steps, alternative: "steps" }, place)) draw(pen, 0)
  const inks = { [colour(INK.good)]: true, [colour(HAIRLINE)]: false }
  return pen.sheet.operators.flatMap(operators => {
    const [, ink = ""] = /^([\d. ]+) RG [\d.]+ w [\d. ]+ m [\d. ]+ l S$/.exec(operators) ?? []
    const isTaken = inks[ink]
    return isTaken === undefined ? [] : [isTaken]
  })
}

test("a run that was refused and then failed in its sealing took no way to the stage that failed", () => {
  expect(waysOf(["passed", "stopped", "not_reached", "not_reached", "stopped", "not_reached"])).toEqual([
    true,
    false,
    false,
    false,
    false,
  ])
})

test("the way goes from each step that was passed, also from the last of a row", () => {
  expect(waysOf(["passed", "passed", "stopped", "not_reached"])).toEqual([true, true, false])
  // A line leaves the first row at its end, and enters the next at its beginning.
  expect(waysOf(Array<State>(8).fill("passed"))).toEqual(Array(8).fill(true))
  expect(waysOf([...Array<State>(6).fill("passed"), "stopped", "not_reached"])).toEqual([
    ...Array(6).fill(true),
    false,
    false,
  ])
})

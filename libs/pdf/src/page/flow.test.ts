import fc from "fast-check"
import { expect, test } from "vitest"
import { documentFonts } from "../fonts/document-fonts.ts"
import { flow, type Strip } from "./flow.ts"
import { newPen } from "./pen.ts"
import { STYLES } from "./style.ts"

const { area } = STYLES.roomy

type Drawn = { readonly strip: number; readonly page: number; readonly top: number; readonly header: boolean }
type Shape = { height: number; gap: number; keepWithNext: boolean; repeats: boolean; opensPart?: boolean }

function drawn(shapes: readonly Shape[]): { drawn: Drawn[]; pages: number } {
  const list: Drawn[] = []
  const strips = shapes.map(({ height, gap, keepWithNext, repeats, opensPart }, strip): Strip => {
    const note =
      (header: boolean): Strip["draw"] =>
      (pen, top) =>
        list.push({ strip, page: pen.sheet.index, top, header })
    return {
      height,
      gap,
      keepWithNext,
      draw: note(false),
      ...(opensPart === true && { opensPart }),
      ...(repeats && { header: { height: 30, draw: note(true) } }),
    }
  })
  let pages = 0
  flow(strips, area, () => newPen(pages++, documentFonts()))
  return { drawn: list, pages }
}

const shape = fc.record({
  height: fc.integer({ min: 0, max: 500 }),
  gap: fc.integer({ min: 0, max: 30 }),
  keepWithNext: fc.boolean(),
  repeats: fc.boolean(),
})

test("every strip is drawn once, in order, within the text area", () => {
  fc.assert(
    fc.property(fc.array(shape, { maxLength: 60 }), shapes => {
      const { drawn: list } = drawn(shapes)
      const own = list.filter(({ header }) => !header)
      expect(own.map(({ strip }) => strip)).toEqual(shapes.map((_, index) => index))
      let last: { page: number; bottom: number } = { page: 0, bottom: area.top }
      for (const { strip, page, top } of own) {
        const bottom = top + (shapes[strip]?.height ?? 0)
        if (page === last.page) expect(top).toBeGreaterThanOrEqual(last.bottom)
        else expect(page).toBe(last.page + 1)
        expect(bottom).toBeLessThanOrEqual(area.top + area.height + 0.01)
        last = { page, bottom }
      }
    }),
  )
})

const line = (more: Partial<Shape> = {}): Shape => ({
  height: 100,
  gap: 0,
  keepWithNext: false,
  repeats: false,
  ...more,
})
const LINES_ON_PAGE = Math.floor(area.height / 100)

test("a strip that stays with the next one goes to its page", () => {
  const shapes = Array.from({ length: LINES_ON_PAGE + 1 }, (_, index) =>
    line({ keepWithNext: index === LINES_ON_PAGE - 1 }),
  )
  expect(
    drawn(shapes)
      .drawn.map(({ page }) => page)
      .slice(-2),
  ).toEqual([1, 1])
})

test("a header is drawn again above the first row of each further page, and only there", () => {
  const shapes = Array.from({ length: 3 * LINES_ON_PAGE }, (_, index) => line({ repeats: index > 0 }))
  const { drawn: list, pages } = drawn(shapes)
  expect(list.filter(({ header }) => header).map(({ page, top }) => [page, top])).toEqual(
    Array.from({ length: pages - 1 }, (_, page) => [page + 1, area.top]),
  )
})

test("a last page with a few lines begins earlier, at a heading if there is one; no page is more for it", () => {
  const shapes = Array.from({ length: 2 * LINES_ON_PAGE + 1 }, () => line())
  const pagesOfLast = (list: readonly Drawn[]): readonly number[] => list.slice(-LINES_ON_PAGE).map(({ page }) => page)
  const { drawn: list, pages } = drawn(shapes)
  expect(pages).toBe(3)
  expect(list.filter(({ page }) => page === 2).length).toBeGreaterThan(1)
  const heading = 2 * LINES_ON_PAGE - 3
  const parted = drawn(shapes.map((shape, index) => (index === heading ? { ...shape, opensPart: true } : shape)))
  expect(parted.pages).toBe(3)
  expect(parted.drawn.findIndex(({ page }) => page === 2)).toBe(heading)
  expect(pagesOfLast(drawn(shapes.slice(0, -1)).drawn)).toEqual(Array.from({ length: LINES_ON_PAGE }, () => 1))
})

import fc from "fast-check"
import { expect, test } from "vitest"
import { documentFonts } from "../fonts/document-fonts.ts"
import { flow, type Strip } from "./flow.ts"
import { newPen } from "./pen.ts"
import { STYLES } from "./style.ts"

const { area } = STYLES.roomy

type Drawn = { readonly strip: number; readonly page: number; readonly top: number; readonly again: boolean }
type Shape = { height: number; gap: number; keep: boolean; repeats: boolean; breaks: boolean }

function drawn(shapes: readonly Shape[]): { drawn: Drawn[]; pages: number } {
  const list: Drawn[] = []
  const strips = shapes.map(({ height, gap, keep, repeats, breaks }, strip): Strip => {
    const note =
      (again: boolean): Strip["draw"] =>
      (pen, top) =>
        list.push({ strip, page: pen.sheet.index, top, again })
    return {
      height,
      gap,
      keep,
      draw: note(false),
      ...(repeats && { again: { height: 30, draw: note(true) } }),
      ...(breaks && { pageBreak: true }),
    }
  })
  let pages = 0
  flow(strips, area, () => newPen(pages++, documentFonts()))
  return { drawn: list, pages }
}

const shape = fc.record({
  height: fc.integer({ min: 0, max: 500 }),
  gap: fc.integer({ min: 0, max: 30 }),
  keep: fc.boolean(),
  repeats: fc.boolean(),
  breaks: fc.boolean().map(value => value && true),
})

test("every strip is drawn once, in order, within the text area", () => {
  fc.assert(
    fc.property(fc.array(shape, { maxLength: 60 }), shapes => {
      const { drawn: list } = drawn(shapes)
      const own = list.filter(({ again }) => !again)
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
  keep: false,
  repeats: false,
  breaks: false,
  ...more,
})
const LINES_ON_PAGE = Math.floor(area.height / 100)

test("what is kept with the next goes to its page", () => {
  const shapes = Array.from({ length: LINES_ON_PAGE + 1 }, (_, index) => line({ keep: index === LINES_ON_PAGE - 1 }))
  expect(
    drawn(shapes)
      .drawn.map(({ page }) => page)
      .slice(-2),
  ).toEqual([1, 1])
})

test("a header is drawn again above the first row of each further page, and only there", () => {
  const shapes = Array.from({ length: 3 * LINES_ON_PAGE }, (_, index) => line({ repeats: index > 0 }))
  const { drawn: list, pages } = drawn(shapes)
  expect(list.filter(({ again }) => again).map(({ page, top }) => [page, top])).toEqual(
    Array.from({ length: pages - 1 }, (_, page) => [page + 1, area.top]),
  )
})

test("a page break begins a page, unless nothing stands before or after it", () => {
  const shapes = [
    line({ height: 0, keep: true, breaks: true }),
    line({ keep: true }),
    line({ height: 0, keep: true, breaks: true }),
    line(),
    line({ height: 0, keep: true, breaks: true }),
  ]
  const { drawn: list, pages } = drawn(shapes)
  expect(list.map(({ page }) => page)).toEqual([0, 0, 1, 1, 1])
  expect(pages).toBe(2)
})
